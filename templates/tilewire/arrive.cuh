// Instances of one launch that come to a place, of which the last one goes on with what all of them
// did. Nobody waits.
#pragma once

#include "tilewire/base.cuh"
#include "tilewire/meet.cuh"
#include "tilewire/order.cuh"

namespace tilewire::device {

TILEWIRE_DEVICE bool is_place(int64_t place, int64_t places) {
  return static_cast<uint64_t>(place) < static_cast<uint64_t>(places);
}

/// Counts this instance at a word, which is 0 when a launch starts; false where nothing `exists`.
/// True for all threads of the one that comes last of `count`, which leaves a 0 behind, for the
/// next launch. The CTA's threads meet before, so that all that they did is released, and behind.
TILEWIRE_DEVICE bool arrive_last(void* shared, uint64_t* word, bool exists, int64_t count) {
  auto* is_last = static_cast<uint32_t*>(shared);
  meet();
  if (threadIdx.x == 0) {
    uint32_t before = 0;
    const uint32_t last = static_cast<uint32_t>(count) - 1;
    if (exists) {
      fence<Scope::kGpu>();
      asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2; // arrive released"
                   : "=r"(before)
                   : "l"(word), "r"(last)
                   : "memory");
    }
    *is_last = exists && before == last ? 1 : 0;
    if (exists && before == last) fence<Scope::kGpu>();  // acquires what the others released
  }
  meet();
  return *is_last != 0;
}

}  // namespace tilewire::device
