// Sorting the lines of a tile in shared memory, by a bitonic network. All threads of the CTA take
// part in the __syncthreads inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/meet.cuh"
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

/// How the lines along axis `kAxis` of a tile of shape `Shape` lie in shared memory, at `kBytes`
/// per element: as many at a time as fit (`sort_lines`), each with padding up to a power of two.
template <int kAxis, typename Shape, int kBytes>
struct SortedLines {
  static constexpr int kSize = Shape::size(kAxis);
  static constexpr int kInner = inner_size<Shape>(kAxis);
  static constexpr int kLines = Shape::kElements / kSize;
  static constexpr int kPadded = smallest_power_of_two(kSize);
  static constexpr int kPadding = kPadded - kSize;
  static constexpr int kBatch = sort_lines(kLines, kSize, kBytes);
  static constexpr int kRoom = kBatch * kPadded;

  /// Calls `visit(place, slot)` for the registers of layout `L` that `is_mine(slot)` says, as far
  /// as their elements are in the batch that begins with line `first`.
  template <typename L, typename IsMine, typename Visit>
  static TILEWIRE_DEVICE void visit(int first, const IsMine& is_mine, const Visit& visit) {
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) {
      if (!is_mine(i)) continue;
      const int element = L::element(threadIdx.x, i);
      const int line = element / (kSize * kInner) * kInner + element % kInner;
      const int place = (line - first) * kPadded + element / kInner % kSize;
      if (place >= 0 && place < kRoom) visit(place, i);
    }
  }
  template <typename L, typename Visit>
  static TILEWIRE_DEVICE void visit_owned(int first, const Visit& visitor) {
    visit<L>(first, [](int slot) { return L::owns(threadIdx.x, slot); }, visitor);
  }
  template <typename L, typename Visit>
  static TILEWIRE_DEVICE void visit_held(int first, const Visit& visitor) {
    visit<L>(first, [](int slot) { return L::holds(threadIdx.x, slot); }, visitor);
  }
  /// Calls `visit(place, number)` for this thread's share of the padding; number: in its line.
  template <int kThreads, typename Visit>
  static TILEWIRE_DEVICE void visit_padding(const Visit& visit) {
    if constexpr (kPadding > 0) {
      for (int i = threadIdx.x; i < kBatch * kPadding; i += kThreads) {
        const int number = kSize + i % kPadding;
        visit(i / kPadding * kPadded + number, number);
      }
    }
  }

  /// A bitonic network over each line: `order(low, high, is_forwards)` puts two places in order,
  /// or in the opposite one.
  template <int kThreads, typename Order>
  static TILEWIRE_DEVICE void sort(const Order& order) {
    for (int width = 2; width <= kPadded; width *= 2) {
      for (int distance = width / 2; distance > 0; distance /= 2) {
        for (int pair = threadIdx.x; pair < kRoom / 2; pair += kThreads) {
          const int low = pair / distance * 2 * distance + pair % distance;
          order(low, low + distance, (low % kPadded & width) == 0);
        }
        meet();
      }
    }
  }
};

template <typename T>
TILEWIRE_DEVICE void swap(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

/// Sorts along axis `kAxis` of a tile of shape `Shape`, NaN last in both directions.
template <int kAxis, bool kIsDescending, typename Shape, typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile sort(const TileType& tile, void* shared) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using K = typename ResultTile::Layout;
  using Lines = SortedLines<kAxis, Shape, sizeof(T)>;
  T* values = static_cast<T*>(shared);
  ResultTile result;
  for (int first = 0; first < Lines::kLines; first += Lines::kBatch) {
    if (first > 0) meet();
    Lines::template visit_padding<L::kThreads>(
        [&](int place, int) { values[place] = last_of_all<kIsDescending, T>(); });
    Lines::template visit_owned<L>(
        first, [&](int place, int slot) { values[place] = element(tile, slot); });
    meet();
    Lines::template sort<L::kThreads>([&](int low, int high, bool is_forwards) {
      const auto a = widen(values[low]);
      const auto b = widen(values[high]);
      const bool is_wrong =
          is_forwards ? goes_before<kIsDescending>(b, a) : goes_before<kIsDescending>(a, b);
      if (is_wrong) swap(values[low], values[high]);
    });
    Lines::template visit_held<K>(first,
                                  [&](int place, int slot) { result.set(slot, values[place]); });
  }
  return result;
}

/// The same, with the numbers that the elements had along the axis; equal ones keep their order.
template <int kAxis, bool kIsDescending, typename Shape, typename TileType, typename ValueTile,
          typename IndexTile>
TILEWIRE_DEVICE void argsort(const TileType& tile, void* shared, ValueTile& sorted,
                             IndexTile& indices) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using Lines = SortedLines<kAxis, Shape, sizeof(T) + sizeof(int)>;
  // Whichever has the larger elements comes first.
  constexpr bool kIsWide = sizeof(T) > sizeof(int);
  char* room = static_cast<char*>(shared);
  T* values = reinterpret_cast<T*>(kIsWide ? room : room + Lines::kRoom * sizeof(int));
  int* numbers = reinterpret_cast<int*>(kIsWide ? room + Lines::kRoom * sizeof(T) : room);
  for (int first = 0; first < Lines::kLines; first += Lines::kBatch) {
    if (first > 0) meet();
    Lines::template visit_padding<L::kThreads>([&](int place, int number) {
      values[place] = last_of_all<kIsDescending, T>();
      numbers[place] = number;
    });
    Lines::template visit_owned<L>(first, [&](int place, int slot) {
      values[place] = element(tile, slot);
      numbers[place] = place % Lines::kPadded;
    });
    meet();
    Lines::template sort<L::kThreads>([&](int low, int high, bool is_forwards) {
      const auto a = widen(values[low]);
      const auto b = widen(values[high]);
      const bool is_before = goes_before<kIsDescending>(a, b);
      const bool is_behind = goes_before<kIsDescending>(b, a);
      const bool is_in_order = is_before || (!is_behind && numbers[low] < numbers[high]);
      if (is_in_order == is_forwards) return;
      swap(values[low], values[high]);
      swap(numbers[low], numbers[high]);
    });
    Lines::template visit_held<typename ValueTile::Layout>(
        first, [&](int place, int slot) { sorted.set(slot, values[place]); });
    Lines::template visit_held<typename IndexTile::Layout>(
        first, [&](int place, int slot) { indices.set(slot, numbers[place]); });
  }
}

}  // namespace tilewire::device
