// What a kernel does before its first statement: shared memory, addresses at peers, barriers.
#include <fmt/format.h>

#include <set>

#include "compiler/codegen/cuda/common_ring.h"
#include "compiler/codegen/cuda/kernel_writer.h"
#include "compiler/codegen/cuda/multimem.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/multimem.h"
#include "compiler/ops/put.h"
#include "compiler/ops/task.h"
#include "templates/tilewire/copy_layout.cuh"

namespace tilewire {

void KernelWriter::write_preamble() {
  Writer& writer = emitter_.writer_;
  if (emitter_.plan_.num_shared_bytes > 0) {
    writer.line(
        fmt::format("__shared__ alignas(16) char shared[{}];", emitter_.plan_.num_shared_bytes));
  }
  if (description_.resources.two_sided) {
    emitter_.include("launch_guard.cuh");
    writer.line("tw::LaunchGuard<kThreads> launch(lane);");
  }
  write_peer_addresses();
  write_multicast_addresses();
  if (description_.launch.num_counters > 0) {
    emitter_.include("counters.cuh");
    writer.line(fmt::format("const tw::Counters<{}> launch_counters(counter_words);",
                            description_.launch.num_counters));
  }
  if (!description_.launch.arrivals.empty()) {
    const int before = description_.launch.num_counter_words();
    writer.line(before > 0
                    ? fmt::format("uint64_t* const arrival_words = counter_words + {};", before)
                    : std::string("uint64_t* const arrival_words = counter_words;"));
  }
  if (emitter_.has_roles()) writer.line("extern __shared__ __align__(1024) char staged[];");
  write_common_ring();
  write_copier();
  write_barriers();
  write_network();
}

/// Behind the book-keeping of the launch: its destructor comes first.
void KernelWriter::write_network() {
  if (!description_.resources.network) return;
  emitter_.include("network.cuh");
  emitter_.writer_.line(
      fmt::format("tw::Network network(comm, lane, {});  // ncclGin(comm, program id % "
                  "lane.num_contexts)",
                  description_.wait_sites.size() - 1));
}

/// The ring between producer and consumers, behind which all threads know that it is ready.
void KernelWriter::write_staging() {
  Writer& writer = emitter_.writer_;
  const StagingPlan plan = plan_staging(program_);
  bool hands_over = false;
  bool gives_indices = false;
  for_each_statement(program_.body, [&](const Statement& statement) {
    hands_over |= statement.is("hand_over");
    gives_indices |= statement.is("give_index");
  });
  writer.line(fmt::format(
      "using StagedRing = tw::Ring<{}, {}, kThreads{}>;", plan.num_stages, plan.slot_bytes,
      program_.cluster_size > 1 ? fmt::format(", {}", program_.cluster_size) : ""));
  writer.line("__shared__ alignas(8) char ring_barriers[StagedRing::kBarriersBytes];");
  if (hands_over) {
    emitter_.include("hand_over.cuh");
    writer.line("__shared__ uint32_t handed_over;");
    writer.line("tw::HandOver hand_over(handed_over);");
  }
  if (gives_indices) {
    emitter_.include("index_ring.cuh");
    writer.line("__shared__ alignas(8) char index_places[tw::IndexRing<kThreads>::kBytes];");
    writer.line("tw::IndexRing<kThreads> index_ring(index_places);");
  }
  if (plan.moved_bytes > 0) {
    emitter_.include("mover.cuh");
    writer.line("__shared__ tw::MoverTurns mover_turns;");
    writer.line(
        fmt::format("tw::Mover<kThreads> mover(mover_turns, staged + {});", plan.moved_offset()));
  }
  for (const Value* array : arrays_waited_for_once(program_)) {
    const std::string seen = emitter_.companion(array, "seen");
    emitter_.include("flag.cuh");
    writer.line(fmt::format("__shared__ tw::SeenFlags {};", seen));
    writer.line(fmt::format("{}.clear();", seen));
  }
  emitter_.include("ring.cuh");
  if (!emitter_.tensor_maps_.empty()) {
    writer.open("if (threadIdx.x == kThreads)");
    for (const auto& [number, name] : emitter_.tensor_maps_) {
      writer.line(fmt::format("tw::prefetch_map({});", name));
    }
    writer.close();
  }
  writer.line("StagedRing ring(staged, ring_barriers);");
}

/// The ring that all threads fill.
void KernelWriter::write_common_ring() {
  const CommonRingPlan plan = plan_common_ring(program_, description_.target);
  if (plan.slot_bytes == 0) return;
  emitter_.include("common_ring.cuh");
  emitter_.writer_.line("extern __shared__ __align__(128) char staged[];");
  emitter_.writer_.line(
      fmt::format("tw::CommonRing<{}, {}> ring(staged);", plan.num_stages, plan.slot_bytes));
}

void KernelWriter::write_copier() {
  const bool has_stages = has_bulk_copies(program_, description_.target);
  if (has_stages && !emitter_.has_roles()) {
    emitter_.writer_.line("extern __shared__ __align__(128) char copy_stages[];");
  }
  if (!has_beside_task(program_.body, "view_copy")) return;
  const auto [num_stages, stages] = copy_stages(false);
  emitter_.writer_.line(fmt::format("tw::Copier<kThreads, {}> copier({});", num_stages, stages));
}

void KernelWriter::write_task_copier(const Region& task) {
  if (!has_view_copies(task)) return;
  const auto [num_stages, stages] = copy_stages(true);
  emitter_.writer_.line(fmt::format("tw::Copier<tw::kWarpThreads, {}, tw::{}> task_copier({});",
                                    num_stages, emitter_.has_roles() ? "LeanTaskWarp" : "TaskWarp",
                                    stages));
}

std::pair<int, std::string> KernelWriter::copy_stages(bool for_task) const {
  if (task_has_bulk_copies(program_) != for_task) return {0, "nullptr"};
  if (emitter_.has_roles()) {
    const StagingPlan plan = plan_staging(program_);
    if (plan.num_copy_stages == 0) return {0, "nullptr"};
    return {plan.num_copy_stages, fmt::format("staged + {}", plan.copy_offset())};
  }
  if (!has_bulk_copies(program_, description_.target)) return {0, "nullptr"};
  const int num_stages = device::num_copy_stages(description_.target.compute_capability);
  return {for_task ? device::kTaskStages : num_stages, "copy_stages"};
}

void KernelWriter::write_barriers() {
  if (!has_barrier_ && !has_local_grid_barrier_ && !has_grid_barrier_ && !has_network_barrier_) {
    return;
  }
  Writer& writer = emitter_.writer_;
  const int num_ranks = description_.target.lsa_size;
  writer.line(
      "const uint32_t slot = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);");
  if (has_barrier_) {
    emitter_.include("lsa_barrier.cuh");
    writer.line(fmt::format("tw::LsaBarrier<{}, kThreads> barrier(lane, slot);", num_ranks));
  }
  if (has_network_barrier_) {
    emitter_.include("network_barrier.cuh");
    writer.line(fmt::format("tw::NetworkBarrier<{}, {}> network_barrier(comm, lane, slot);",
                            description_.target.world_size, num_ranks));
  }
  if (has_local_grid_barrier_) {
    emitter_.include("grid_barrier.cuh");
    writer.line("tw::LocalGridBarrier local_grid_barrier(lane, slot);");
  }
  if (has_grid_barrier_) {
    writer.line(fmt::format("tw::LsaGridBarrier<{}> grid_barrier(lane, slot);", num_ranks));
  }
}

/// The addresses at ranks that are constants.
void KernelWriter::write_peer_addresses() {
  Writer& writer = emitter_.writer_;
  for_each_statement(program_.body, [&](const Statement& statement) {
    if (!statement.is("address") || !statement.flag("peer")) return;
    const Value* view = statement.operands.at(0);
    const Value* rank = statement.operands.at(1);
    const auto constant = constant_rank(rank);
    if (!constant || emitter_.peer_addresses_.contains({view, *constant})) return;
    const std::string address = emitter_.peer_address(view, rank);
    const std::string name =
        emitter_.names_.make(fmt::format("{}_rank_{}", emitter_.parameter(view), *constant));
    writer.line(fmt::format("{}* const {} = {};", device_type(view->type.dtype), name, address));
    emitter_.peer_addresses_[{view, *constant}] = name;
  });
}

/// The same of addresses that stand for all copies, and what finds each copy where some elements
/// are written one by one.
void KernelWriter::write_multicast_addresses() {
  Writer& writer = emitter_.writer_;
  std::set<const Value*> views;
  std::set<const Value*> found;
  for_each_statement(program_.body, [&](const Statement& statement) {
    if (!is_multimem(statement)) return;
    const Value* view = parameter_behind(statement.operands.at(0));
    const std::string& name = emitter_.parameter(view);
    const bool is_first = views.insert(view).second;
    const std::string window = emitter_.window(view);
    if (is_first) {
      writer.line(fmt::format("const ncclWindow_t {} = static_cast<ncclWindow_t>({}.window);",
                              window, name));
      writer.line(fmt::format(
          "{0}* const {1} = static_cast<{0}*>(ncclGetLsaMultimemPointer({2}, {3}.offset, comm));",
          device_type(view->type.dtype), emitter_.multicast_address(view), window, name));
    }
    if (!writes_single_copies(statement) || !found.insert(view).second) return;
    writer.line(
        fmt::format("const tw::Copies<{0}> {1}({2}, ncclGetLsaPointer({3}, {4}.offset, 0), "
                    "ncclGetLsaPointer({3}, {4}.offset, 1));",
                    description_.target.lsa_size, emitter_.copies(view),
                    emitter_.multicast_address(view), window, name));
  });
}

}  // namespace tilewire
