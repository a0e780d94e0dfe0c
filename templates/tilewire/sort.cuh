// Sorting the lines of a tile in shared memory, by a bitonic network. All threads of the CTA take
// part in the __syncthreads inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/reduce.cuh"

namespace tilewire::device {

/// Whether `a` stands before `b`; NaN behind everything.
template <bool kIsDescending, typename C>
TILEWIRE_DEVICE bool goes_before(C a, C b) {
  if (a == a && !(b == b)) return true;
  return kIsDescending ? a > b : a < b;
}

/// What nothing stands behind.
template <bool kIsDescending, typename T>
TILEWIRE_DEVICE T last_of_all() {
  if constexpr (kKind<T> == Kind::kNarrowFloat) {
    return Narrow<T>::of(__int_as_float(0x7fc00000));
  } else if constexpr (kKind<T> == Kind::kFloat) {
    return T(__int_as_float(0x7fc00000));
  } else if constexpr (kKind<T> == Kind::kBool) {
    return !kIsDescending;
  } else {
    return kIsDescending ? lowest(T()) : highest(T());
  }
}

/// One round of the network over lines of `kPadded` elements each: neighbours at `distance` change
/// places where they are in the wrong order, which alternates between runs of `width`.
template <bool kIsDescending, int kElements, int kPadded, int kThreads, typename T>
TILEWIRE_DEVICE void compare_and_exchange(T* lines, int width, int distance) {
  for (int pair = threadIdx.x; pair < kElements / 2; pair += kThreads) {
    const int low = pair / distance * 2 * distance + pair % distance;
    const T a = lines[low];
    const T b = lines[low + distance];
    const bool is_forwards = (low % kPadded & width) == 0;
    const bool is_wrong = is_forwards ? goes_before<kIsDescending>(widen(b), widen(a))
                                      : goes_before<kIsDescending>(widen(a), widen(b));
    if (is_wrong) {
      lines[low] = b;
      lines[low + distance] = a;
    }
  }
}

/// Sorts along axis `kAxis` of a tile of shape `Shape`, NaN last in both directions. As many lines
/// at a time as fit, each with padding up to a power of two, which must fit (`sort_bytes`).
template <int kAxis, bool kIsDescending, typename Shape, typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile sort(const TileType& tile, void* shared) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using K = typename ResultTile::Layout;
  constexpr int kSize = Shape::size(kAxis);
  constexpr int kInner = inner_size<Shape>(kAxis);
  constexpr int kLines = L::kElements / kSize;
  constexpr int kPadded = smallest_power_of_two(kSize);
  constexpr int kBatch = sort_lines(kLines, kSize, sizeof(T));
  T* lines = static_cast<T*>(shared);
  // Where an element of the tile lies, counted from the first line of the batch.
  const auto place_of = [](int element, int first_line) {
    const int line = element / (kSize * kInner) * kInner + element % kInner;
    return (line - first_line) * kPadded + element / kInner % kSize;
  };
  ResultTile result;
  for (int first = 0; first < kLines; first += kBatch) {
    if (first > 0) __syncthreads();
    if constexpr (kPadded > kSize) {
      constexpr int kPadding = kPadded - kSize;
      for (int i = threadIdx.x; i < kBatch * kPadding; i += L::kThreads) {
        lines[i / kPadding * kPadded + kSize + i % kPadding] = last_of_all<kIsDescending, T>();
      }
    }
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) {
      if (!L::owns(threadIdx.x, i)) continue;
      const int place = place_of(L::element(threadIdx.x, i), first);
      if (place >= 0 && place < kBatch * kPadded) lines[place] = element(tile, i);
    }
    __syncthreads();
    for (int width = 2; width <= kPadded; width *= 2) {
      for (int distance = width / 2; distance > 0; distance /= 2) {
        compare_and_exchange<kIsDescending, kBatch * kPadded, kPadded, L::kThreads>(lines, width,
                                                                                    distance);
        __syncthreads();
      }
    }
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      if (!K::holds(threadIdx.x, i)) continue;
      const int place = place_of(K::element(threadIdx.x, i), first);
      if (place >= 0 && place < kBatch * kPadded) result.set(i, lines[place]);
    }
  }
  return result;
}

}  // namespace tilewire::device
