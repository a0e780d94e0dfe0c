#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "compiler/codegen/cuda/common_ring.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ir/names.h"
#include "compiler/ops/op.h"
#include "compiler/ops/put.h"
#include "compiler/ops/staging.h"
#include "compiler/ops/task.h"
#include "compiler/passes/arrivals.h"
#include "compiler/passes/lower.h"
#include "compiler/passes/protocol.h"
#include "templates/tilewire/copy_layout.cuh"
#include "templates/tilewire/fragment_layout.cuh"

namespace tilewire {
namespace {

/// The symbol: the kernel's name, in characters that any assembler takes.
std::string entry_of(const Program& program) {
  std::string entry;
  for (const char character : program.name) {
    const bool is_plain =
        continues_identifier(character) && static_cast<signed char>(character) > 0;
    entry += is_plain ? character : '_';
  }
  return entry + "_kernel";
}

bool is_contiguous(const Program& program, std::size_t parameter) {
  return program.parameters[parameter].is_symmetric() ||
         (parameter < program.facts.contiguous.size() && program.facts.contiguous[parameter]);
}

/// Whether the kernel asks which rank it is on: for itself, or to find another one's copy.
bool needs_place(const Program& program) {
  bool needs = false;
  for_each_statement(program.body, [&needs](const Statement& statement) {
    needs |=
        statement.is("rank") || (statement.kind == StatementKind::kOp && statement.flag("peer"));
  });
  return needs;
}

/// Parameter index → whether an op writes to an address in it, or sets a flag.
std::vector<bool> written_parameters(const Program& program) {
  std::vector<bool> written(program.parameters.size());
  for_each_statement(program.body, [&](const Statement& statement) {
    const bool writes = statement.kind == StatementKind::kOp &&
                        (statement.op->effect == Effect::kWrites || statement.is("flag_set"));
    if (!writes || statement.operands.empty()) return;
    const Statement* address = statement.operands.at(0)->definition;
    if (address != nullptr && address->is("pointer_cast")) {
      address = address->operands.at(0)->definition;
    }
    for (std::size_t i = 0; address != nullptr && i < written.size(); ++i) {
      if (program.parameters[i].value == address->operands.at(0)) written[i] = true;
    }
  });
  return written;
}

ArgumentSlot::Kind slot_kind(Parameter::Kind kind) {
  switch (kind) {
    case Parameter::Kind::kTensor:
      return ArgumentSlot::Kind::kTensor;
    case Parameter::Kind::kWindow:
    case Parameter::Kind::kSemaphore:
    case Parameter::Kind::kFlag:
    case Parameter::Kind::kChannel:
      return ArgumentSlot::Kind::kWindow;
    case Parameter::Kind::kScalar:
      return ArgumentSlot::Kind::kScalar;
  }
  return ArgumentSlot::Kind::kScalar;
}

int num_counters_of(const Program& program) {
  std::int64_t count = 0;
  for_each_statement(program.body, [&count](const Statement& statement) {
    if (!statement.is("next_index") && !statement.is("give_index")) return;
    count = std::max(count, statement.integer("counter") + 1);
  });
  return static_cast<int>(count);
}

std::vector<ArgumentSlot> arguments_of(const Program& program, const Resources& resources,
                                       bool has_words, std::size_t num_maps) {
  std::vector<ArgumentSlot> slots;
  const auto add = [&slots](ArgumentSlot::Kind kind, std::size_t index, std::size_t dimension = 0) {
    slots.push_back({kind, static_cast<int>(index), static_cast<int>(dimension)});
  };
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    add(slot_kind(program.parameters[i].kind), i);
  }
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter& parameter = program.parameters[i];
    if (parameter.kind != Parameter::Kind::kTensor || is_contiguous(program, i)) continue;
    for (std::size_t k = 0; k < parameter.shape.size(); ++k) add(ArgumentSlot::Kind::kStride, i, k);
  }
  for (std::size_t i = 0; i < program.dimensions.size(); ++i) add(ArgumentSlot::Kind::kExtent, i);
  if (resources.network || resources.multimem) add(ArgumentSlot::Kind::kDeviceComm, 0);
  if (resources.lane || needs_place(program)) add(ArgumentSlot::Kind::kLane, 0);
  if (has_words) add(ArgumentSlot::Kind::kCounters, 0);
  for (std::size_t i = 0; i < num_maps; ++i) add(ArgumentSlot::Kind::kTensorMap, i);
  return slots;
}

SourceLocation first_use_of_network(const Program& program) {
  SourceLocation first;
  for_each_statement(program.body, [&first](const Statement& statement) {
    if (first.is_known() || statement.kind != StatementKind::kOp) return;
    if (statement.op->name.starts_with("network_") || statement.flag("network")) {
      first = statement.location;
    }
  });
  return first;
}

/// In order of their numbers: program order; of a GPU's kernel behind them, if it uses the network,
/// all its calls of NCCL, whichever line they belong to.
std::vector<WaitSite> wait_sites_of(const Program& program, bool calls_network) {
  std::vector<WaitSite> sites;
  for_each_statement(program.body, [&](const Statement& statement) {
    if (statement.kind != StatementKind::kOp || statement.op->wait_site == nullptr) return;
    const auto site = static_cast<std::size_t>(statement.integer("site"));
    if (site >= sites.size()) sites.resize(site + 1);
    sites[site] = {statement.location, statement.op->wait_site(statement, program)};
  });
  if (calls_network) {
    sites.push_back({first_use_of_network(program),
                     "a put, signal or flush over the network (a call of NCCL's)"});
  }
  return sites;
}

}  // namespace

Artifact describe(const Program& lowered, const Target& target) {
  Artifact artifact;
  artifact.kernel = lowered.name;
  artifact.entry = entry_of(lowered);
  artifact.source_file = lowered.source_file;
  artifact.target = target;
  artifact.parameters = lowered.parameters;
  for (Parameter& parameter : artifact.parameters) parameter.value = nullptr;
  artifact.written = written_parameters(lowered);
  for (const auto& dimension : lowered.dimensions) artifact.dimensions.push_back(dimension.first);
  artifact.facts = lowered.facts;
  for_each_statement(lowered.body, [&artifact](const Statement& statement) {
    if (statement.kind != StatementKind::kOp || statement.op->resources == nullptr) return;
    artifact.resources |= statement.op->resources(statement);
  });
  artifact.launch.num_counters = num_counters_of(lowered);
  artifact.launch.arrivals = arrival_words(lowered);
  artifact.tensor_maps = tensor_maps_of(lowered);
  artifact.arguments = arguments_of(lowered, artifact.resources, artifact.launch.has_words(),
                                    artifact.tensor_maps.size());
  artifact.wait_sites = wait_sites_of(lowered, target.is_cuda() && artifact.resources.network);
  artifact.protocol = protocol_of(lowered, artifact.arguments, artifact.wait_sites);
  artifact.launch.num_threads = lowered.num_threads;
  artifact.launch.has_task = find_task(lowered) != nullptr;
  if (has_roles(lowered)) {
    artifact.launch.num_threads += device::kWarpgroupThreads;
    artifact.launch.dynamic_shared_bytes = plan_staging(lowered).num_bytes();
    artifact.launch.cluster_size = static_cast<int>(lowered.cluster_size);
  } else if (artifact.launch.has_task) {
    artifact.launch.num_threads += device::kWarpThreads;
  }
  if (has_product_ahead(lowered.body)) {
    artifact.launch.dynamic_shared_bytes = plan_common_ring(lowered, target).num_bytes();
  } else if (!has_roles(lowered) && has_bulk_copies(lowered, target)) {
    artifact.launch.dynamic_shared_bytes =
        task_has_bulk_copies(lowered) ? device::task_copy_shared_bytes()
                                      : device::copy_shared_bytes(target.compute_capability);
  }
  artifact.launch.cooperative = artifact.resources.waits;
  artifact.launch.useful_grid = lowered.useful_grid;
  artifact.launch.max_grid = lowered.max_grid;
  return artifact;
}

}  // namespace tilewire
