// How the elements of a register tile are spread over the threads of a CTA, and how much shared
// memory the operations need that move them. Plain arithmetic: the code generator and the unit
// tests compile this file too.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

inline constexpr int kWarpThreads = 32;

/// The blocked layout of `kElements` elements in row-major order: vectors of `kVector` consecutive
/// elements go round-robin over `kThreads` threads. What lies past the end is padding.
template <int kElements_, int kVector_, int kThreads_>
struct Blocked {
  static constexpr int kElements = kElements_;
  static constexpr int kVector = kVector_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kRound = kVector * kThreads;  ///< elements that one vector per thread holds
  static constexpr int kRegisters = (kElements + kRound - 1) / kRound * kVector;
  static constexpr bool kIsFull = kRegisters * kThreads == kElements;  ///< no padding anywhere

  /// The element in register `slot` of `thread`; padding where it is not below kElements.
  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return slot / kVector * kRound + thread * kVector + slot % kVector;
  }
  /// Where an element lies: the inverse of `element`.
  static TILEWIRE_CONSTEXPR int thread(int element) { return element / kVector % kThreads; }
  static TILEWIRE_CONSTEXPR int slot(int element) {
    return element / kRound * kVector + element % kVector;
  }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int slot) {
    return kIsFull || element(thread, slot) < kElements;
  }
};

/// A static shape, in row-major order.
template <int... kSizes_>
struct Extents {
  static constexpr int kRank = sizeof...(kSizes_);
  static constexpr int kElements = (1 * ... * kSizes_);
  static TILEWIRE_CONSTEXPR int size(int dimension) {
    const int sizes[] = {kSizes_...};
    return sizes[dimension];
  }
};

/// The element of `Source` that element `index` of `Result` repeats; extents of 1 are repeated.
template <typename Result, typename Source>
TILEWIRE_CONSTEXPR int broadcast_source(int index) {
  int source = 0;
  int stride = 1;
  TILEWIRE_UNROLL
  for (int i = Result::kRank - 1; i >= 0; --i) {
    const int coordinate = i == 0 ? index : index % Result::size(i);
    index /= Result::size(i);
    if (Source::size(i) != 1) source += coordinate * stride;
    stride *= Source::size(i);
  }
  return source;
}

/// Tiles pass through shared memory in pieces of at most this many bytes.
inline constexpr int kMaxPieceBytes = 32 * 1024;

TILEWIRE_CONSTEXPR int smaller(int a, int b) { return a < b ? a : b; }

/// Elements of `element_bytes` bytes that pass through shared memory at once.
TILEWIRE_CONSTEXPR int piece_elements(int elements, int element_bytes) {
  return smaller(elements, kMaxPieceBytes / element_bytes);
}

/// Shared bytes of a reduction over all elements: an accumulator per warp.
TILEWIRE_CONSTEXPR int reduce_bytes(int threads, int accumulator_bytes) {
  return threads / kWarpThreads * accumulator_bytes;
}

TILEWIRE_CONSTEXPR int smallest_power_of_two(int at_least) {
  int power = 1;
  while (power < at_least) power *= 2;
  return power;
}

/// Threads that share the work on one of `results` results: a power of two, within a warp.
TILEWIRE_CONSTEXPR int threads_per_result(int results, int threads) {
  int lanes = kWarpThreads;
  while (lanes > 1 && lanes * results > threads) lanes /= 2;
  return lanes;
}

/// Shared bytes of a tile that passes through in pieces.
TILEWIRE_CONSTEXPR int piece_bytes(int elements, int element_bytes) {
  return piece_elements(elements, element_bytes) * element_bytes;
}

}  // namespace tilewire::device
