#include "tests/codegen/lowered.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/codegen/cuda/emit.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

using Kind = ArgumentSlot::Kind;

/// What a description says of the program, as far as its text depends on it.
Artifact describe_lowered(const Program& program) {
  Artifact artifact;
  artifact.kernel = artifact.entry = program.name;
  artifact.target = Target::parse(
      fmt::format("sm_90a:world={},lsa={}", program.world_size, program.lsa_size));
  for_each_statement(program.body, [&](const Statement& statement) {
    if (statement.kind != StatementKind::kOp) return;
    if (statement.op->resources != nullptr) artifact.resources |= statement.op->resources(statement);
    if (statement.is("lsa_barrier")) {
      artifact.wait_sites.push_back({statement.location, "barrier(team=world)"});
    }
  });
  artifact.launch.cooperative = artifact.resources.waits;
  int index = 0;
  for (const Parameter& parameter : program.parameters) {
    const Kind kind = parameter.kind == Parameter::Kind::kTensor   ? Kind::kTensor
                      : parameter.kind == Parameter::Kind::kWindow ? Kind::kWindow
                                                                   : Kind::kScalar;
    artifact.arguments.push_back({kind, index, 0});
    const auto position = static_cast<std::size_t>(index);
    const bool is_contiguous = position >= program.facts.contiguous.size() ||
                               program.facts.contiguous[position];
    for (int i = 0; !is_contiguous && i < static_cast<int>(parameter.shape.size()); ++i) {
      artifact.arguments.push_back({Kind::kStride, index, i});
    }
    ++index;
  }
  for (int i = 0; i < static_cast<int>(program.dimensions.size()); ++i) {
    artifact.arguments.push_back({Kind::kExtent, i, 0});
  }
  if (program.world_size > 1) artifact.arguments.push_back({Kind::kDeviceComm, 0, 0});
  if (artifact.resources.lane) artifact.arguments.push_back({Kind::kLane, 0, 0});
  return artifact;
}

}  // namespace

Program read_lowered(const std::string& name) {
  const auto path = std::filesystem::path(TILEWIRE_SOURCE_DIR) / "tests/codegen/programs" /
                    (name + ".ir");
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  Program program = parse_program(text.str());
  verify(program);
  return program;
}

std::string cuda_of(const std::string& name) {
  const Program program = read_lowered(name);
  return emit_cuda_source(program, describe_lowered(program));
}

}  // namespace tilewire
