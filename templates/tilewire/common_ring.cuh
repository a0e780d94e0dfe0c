// A ring of slots in shared memory without roles: each thread copies its part of what comes some
// slots later (`cp.async`), and all of them multiply out of the slot that was filled first.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/memory.cuh"
#include "tilewire/slot_layout.cuh"

namespace tilewire::device {

#if defined(__CUDACC__)
/// Starts to copy `kBytes` (4, 8 or 16) bytes to shared memory. Both places are aligned to so many.
template <int kBytes>
TILEWIRE_DEVICE void start_copy(void* to, const void* from) {
  const uint32_t shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(kBytes)
                 : "memory");
  }
}
/// The same of the first `num_bytes` of them, which may be 0; the rest becomes 0.
template <int kBytes>
TILEWIRE_DEVICE void start_copy(void* to, const void* from, int num_bytes) {
  const uint32_t shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(num_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
                 "n"(kBytes), "r"(num_bytes)
                 : "memory");
  }
}
TILEWIRE_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until this thread's copies are done, but for those of its `kNewest` last groups.
template <int kNewest>
TILEWIRE_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}
#endif

/// The same of a run of elements.
template <int kBytes, typename T>
TILEWIRE_DEVICE void copy_run(char* to, const T* from, const Run& run) {
  constexpr int kVector = kBytes / static_cast<int>(sizeof(T));
  if (run.first <= 0) {
    const int64_t count = run.last < 0 ? 0 : run.last < kVector ? run.last : kVector;
    start_copy<kBytes>(to, from, static_cast<int>(count) * static_cast<int>(sizeof(T)));
    return;
  }
  // What is copied begins where the vector does, so these go one by one.
  T* const vector = reinterpret_cast<T*>(to);
  TILEWIRE_UNROLL
  for (int j = 0; j < kVector; ++j) {
    vector[j] = j >= run.first && j < run.last ? from[j] : T{};
  }
}

/// `kStages` slots of `kSlotBytes` bytes. A loop begins with `begin`, fills `kAhead` slots, and
/// then, in each iteration, waits for the first of them and fills another one: the one that was
/// multiplied in the iteration before. A slot may stay empty, behind the end of the loop.
///
/// All threads take part in everything. Slots follow each other over all loops of a kernel: the
/// first ones of a loop are none that a slow thread may still be reading.
template <int kStages, int kSlotBytes>
class CommonRing {
 public:
  static constexpr int kAhead = kStages - 1;
  static_assert(kStages > 1 && kSlotBytes % kSlotAlignment == 0);

  /// `slots` is aligned to kSlotAlignment bytes.
  TILEWIRE_DEVICE explicit CommonRing(void* slots) : slots_(static_cast<char*>(slots)) {}

  /// How many slots are to be filled before the loop; they lie behind the last one multiplied.
  TILEWIRE_DEVICE int64_t begin() {
    filling_ = behind(multiplied_);
    return kAhead;
  }

  /// Starts to copy a tile to byte `kOffset` of the slot that is being filled, `kVector` elements
  /// at a time, which are contiguous and aligned together. Elements outside become 0.
  template <typename S, int kOffset, int kVector, int kThreads, typename A>
  TILEWIRE_DEVICE void copy(const A& access) const {
    constexpr int kBytes = kVector * S::kElementBytes;
    constexpr int kVectors = S::kBytes / kBytes;
    constexpr int kAcross = S::kInner / kVector;
    char* const tile = slots_ + filling_ * kSlotBytes + kOffset;
    if constexpr (kVectors % kThreads == 0 && kThreads % kAcross == 0) {
      // Each thread has the same vector of every so many rows.
      constexpr int kRows = kThreads / kAcross;
      const int row = static_cast<int>(threadIdx.x) / kAcross;
      const int column = static_cast<int>(threadIdx.x) % kAcross;
      const int64_t stride = A::kRank == 1 ? S::kInner : access.strides[0];
      const auto* from = access.pointer + (row * stride + column * kVector);
      const int first = S::place(row, column * kBytes);
      if (access.has_all()) {
        TILEWIRE_UNROLL
        for (int j = 0; j < S::kOuter / kRows; ++j) {
          const int place = kRows % 8 == 0 ? S::behind(first, j * kRows, 0)
                                           : S::place(row + j * kRows, column * kBytes);
          start_copy<kBytes>(tile + place, from + j * kRows * stride);
        }
        return;
      }
    }
    TILEWIRE_ROLLED
    for (int i = static_cast<int>(threadIdx.x); i < kVectors; i += kThreads) {
      const Run run = access.run(static_cast<unsigned>(i * kVector), kVector, true);
      copy_run<kBytes>(tile + S::place(i / kAcross, i % kAcross * kBytes),
                       access.pointer + run.offset, run);
    }
  }

  /// The slot is filled: by what has been copied since the one before.
  TILEWIRE_DEVICE void fill() {
    commit_copies();
    filling_ = behind(filling_);
  }

  /// The next slot, in which everything has arrived. Nobody multiplies the one before any more.
  TILEWIRE_DEVICE void await() {
    wait_copies<kAhead - 1>();
    meet();
    multiplied_ = behind(multiplied_);
  }
  /// Where it begins.
  TILEWIRE_DEVICE const char* slot() const { return slots_ + multiplied_ * kSlotBytes; }

 private:
  static TILEWIRE_DEVICE int behind(int slot) { return slot == kStages - 1 ? 0 : slot + 1; }

  char* slots_;
  int filling_ = 0;
  int multiplied_ = kStages - 1;
};

}  // namespace tilewire::device
