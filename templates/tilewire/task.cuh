// A task: what a warp of its own does beside the rest of a program instance. It is the warp behind
// the threads that run the program; in kernels with roles (roles.cuh), one of the producer's
// warpgroup.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

/// The group of threads (group.cuh) that the task is.
struct TaskWarp {
  static TILEWIRE_DEVICE int index() { return threadIdx.x % kWarpThreads; }
  static TILEWIRE_DEVICE void acquired() {}
  static TILEWIRE_DEVICE void meet() { __syncwarp(); }
};

/// The same in kernels with roles, where its threads have the producer's registers.
struct LeanTaskWarp : TaskWarp {};

#if defined(__CUDACC__)
/// Whether this thread is the task's. `kWarpsBefore`: of other roles.
template <int kThreads, int kWarpsBefore = 0>
TILEWIRE_DEVICE bool is_task() {
  return threadIdx.x / kWarpThreads == kThreads / kWarpThreads + kWarpsBefore;
}

/// Where the task and the threads that run the program meet for the last time.
template <int kThreads>
TILEWIRE_DEVICE void join_task() {
  asm volatile("barrier.sync 2, %0;" ::"n"(kThreads + kWarpThreads) : "memory");
}
#endif

}  // namespace tilewire::device
