#include "runtime/cpu/parallel_launch.h"

#include <algorithm>
#include <vector>

#include "runtime/cpu/aligned_buffer.h"
#include "runtime/cpu/launch_control.h"
#include "runtime/cpu/thread_pool.h"

namespace tilewire {
namespace {

/// This thread's arena, grown where it is too small; kept for the next launch.
std::byte* arena_of_thread(std::size_t num_bytes) {
  static thread_local AlignedBuffer arena;
  static thread_local std::size_t capacity = 0;
  if (num_bytes > capacity) {
    arena = make_aligned_buffer(num_bytes);
    capacity = num_bytes;
  }
  return arena.get();
}

void run_instance(const RankLaunch& launch, int rank, std::int64_t program_id,
                  CpuCounters& counters, LaunchControl& control) {
  CpuInstance instance;
  instance.control = &control;
  instance.counters = counters.of(rank).data();
  launch.place(instance, rank, program_id);
  instance.arena = arena_of_thread(static_cast<std::size_t>(launch.kernel->artifact().arena_bytes));
  // Where nobody waits, a task may as well run first.
  if (launch.kernel->artifact().launch.has_task) {
    instance.in_task = 1;
    launch.kernel->entry()(&instance, launch.arguments.data());
    instance.in_task = 0;
  }
  launch.kernel->entry()(&instance, launch.arguments.data());
}

}  // namespace

void run_in_parallel(std::span<const RankLaunch> ranks, const std::atomic<bool>* is_ended) {
  std::vector<std::int64_t> ends;  // of each rank's share of the indices
  std::int64_t count = 0;
  CpuCounters counters(ranks);
  LaunchControl control(is_ended);
  for (const RankLaunch& launch : ranks) ends.push_back(count += launch.num_instances());
  const auto run = [&](std::int64_t index) {
    const auto found = std::upper_bound(ends.begin(), ends.end(), index);
    const auto rank = static_cast<std::size_t>(found - ends.begin());
    const std::int64_t begin = rank == 0 ? 0 : ends[rank - 1];
    try {
      control.poll();
      run_instance(ranks[rank], static_cast<int>(rank), index - begin, counters, control);
    } catch (const LaunchStopped&) {
      // The launching thread says why.
    }
  };
  parallel_for(count, run, [&] { control.poll(); });
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].kernel == nullptr) continue;
    ranks[rank].check_arrivals(counters.of(static_cast<int>(rank)));
  }
}

}  // namespace tilewire
