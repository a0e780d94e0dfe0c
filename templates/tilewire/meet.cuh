// Where the threads that run a program meet.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

#if defined(TILEWIRE_CONSUMERS)  // so many threads run it, and a producer beside them
/// All threads that run the program meet: what each has done before, all see behind.
TILEWIRE_DEVICE void meet() {
  asm volatile("barrier.sync.aligned 1, %0;" ::"n"(TILEWIRE_CONSUMERS) : "memory");
}
/// The same; whether any of them says yes.
TILEWIRE_DEVICE bool meet_any(bool mine) {
  int any;
  asm volatile(
      "{\n\t"
      ".reg .pred mine, any;\n\t"
      "setp.ne.s32 mine, %1, 0;\n\t"
      "barrier.red.or.pred.aligned any, 1, %2, mine;\n\t"
      "selp.s32 %0, 1, 0, any;\n\t"
      "}"
      : "=r"(any)
      : "r"(static_cast<int>(mine)), "n"(TILEWIRE_CONSUMERS)
      : "memory");
  return any != 0;
}
#else
TILEWIRE_DEVICE void meet() { __syncthreads(); }
#if defined(__CUDACC__)
TILEWIRE_DEVICE bool meet_any(bool mine) { return __syncthreads_or(mine) != 0; }
#endif
#endif

}  // namespace tilewire::device
