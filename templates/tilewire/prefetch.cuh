// Prefetches: memory comes into the L2 cache, and nothing else happens.
#pragma once

#include "tilewire/group.cuh"
#include "tilewire/memory.cuh"

namespace tilewire::device {

TILEWIRE_DEVICE void prefetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// What exists of an access, by `kThreads` threads. `kStep` elements of a row lie in one line of
/// the cache, or in two where the row doesn't begin with a line.
template <int kThreads, int kStep, typename Group = ProgramThreads, typename T, typename... Dims>
TILEWIRE_DEVICE void prefetch(const Access<T, Dims...>& access) {
  constexpr int kSizes[] = {Dims::kSize...};
  constexpr int kRow = kSizes[sizeof...(Dims) - 1];
  constexpr int kSteps = (kRow + kStep - 1) / kStep;
  constexpr int kPieces = Access<T, Dims...>::kElements / kRow * kSteps;
  for (int i = Group::index(); i < kPieces; i += kThreads) {
    const int start = i % kSteps * kStep;
    const int count = start + kStep <= kRow ? kStep : kRow - start;
    const Run run = access.run(i / kSteps * kRow + start, count, true);
    if (run.first >= run.last) continue;
    prefetch_line(access.pointer + run.offset + run.first);
    if (kStep > 1) prefetch_line(access.pointer + run.offset + run.last - 1);
  }
}

}  // namespace tilewire::device
