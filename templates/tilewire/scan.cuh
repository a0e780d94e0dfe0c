// Running sums and products. The order of the operations is fixed, so that equal inputs give equal
// bits. The tile passes through shared memory: all threads of the CTA take part in the
// __syncthreads inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/arithmetic.cuh"
#include "tilewire/meet.cuh"

namespace tilewire::device {

struct RunningSum : Add {
  template <typename T>
  static TILEWIRE_DEVICE T neutral() {
    return T(0);
  }
};
struct RunningProduct : Multiply {
  template <typename T>
  static TILEWIRE_DEVICE T neutral() {
    return T(1);
  }
};

/// As `put_piece`, converted to the dtype of the piece.
template <int kPiece, typename C, typename TileType>
TILEWIRE_DEVICE void put_widened(const TileType& tile, int start, C* piece) {
  using L = typename Operand<TileType>::Layout;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    const int index = L::element(threadIdx.x, i) - start;
    if (index >= 0 && index < kPiece && L::owns(threadIdx.x, i)) {
      piece[index] = static_cast<C>(wide(tile, i));
    }
  }
}

/// Inclusive, over groups of `kLanes` neighbouring lanes.
template <typename Op, int kLanes, typename C>
TILEWIRE_DEVICE C scan_lanes(C value) {
  const int lane = threadIdx.x % kWarpThreads;
  TILEWIRE_UNROLL
  for (int distance = 1; distance < kLanes; distance *= 2) {
    const C before = __shfl_sync(0xffffffff, value, (lane - distance) & (kWarpThreads - 1));
    if (lane % kLanes >= distance) value = Op::of(before, value);
  }
  return value;
}

/// A part of a line of elements that lie `kInner` apart: those at `begin` … `end` - 1 in the order
/// of the scan, as far as they are in the piece. Element j of the line is piece[first + j *
/// kInner].
template <int kSize, int kInner, bool kIsReverse>
struct LinePart {
  int begin, end;
  int first;
  int num_elements;  ///< in the piece

  TILEWIRE_DEVICE int index(int place) const {
    return first + (kIsReverse ? kSize - 1 - place : place) * kInner;
  }
  TILEWIRE_DEVICE bool holds(int place) const {
    return place < end && index(place) >= 0 && index(place) < num_elements;
  }
};

/// Scans a part by a group of lanes, in place; returns what all of it comes to, after `carried`.
/// The groups of a warp take as many steps each.
template <typename Op, int kSteps, int kLanes, typename Part, typename C>
TILEWIRE_DEVICE C scan_part(const Part& part, C* piece, C carried) {
  const int lane = threadIdx.x % kLanes;
  const int last_lane = threadIdx.x % kWarpThreads / kLanes * kLanes + kLanes - 1;
  for (int step = 0; step < kSteps; ++step) {
    const int place = part.begin + step * kLanes + lane;
    const bool is_there = part.holds(place);
    const C own = is_there ? piece[part.index(place)] : Op::template neutral<C>();
    const C value = Op::of(carried, scan_lanes<Op, kLanes>(own));
    __syncwarp();  // a lane without an element may read another's, and drops it
    if (is_there) piece[part.index(place)] = value;
    carried = __shfl_sync(0xffffffff, value, last_lane);
  }
  return carried;
}

/// Puts what stands before a part in front of all its elements, from what the parts of its line
/// come to; `carried`: what stands before the line. Returns the same for the line's next piece.
template <typename Op, int kParts, int kLanes, typename Part, typename C>
TILEWIRE_DEVICE C add_parts_before(const Part& part, int number, const C* totals, C* piece,
                                   C carried) {
  C before = carried;
  for (int i = 0; i < kParts; ++i) {
    if (i == number) before = carried;
    carried = Op::of(carried, totals[i]);
  }
  for (int place = part.begin + threadIdx.x % kLanes; place < part.end; place += kLanes) {
    if (!part.holds(place)) continue;
    piece[part.index(place)] = Op::of(before, piece[part.index(place)]);
  }
  return carried;
}

/// Element j along axis `kAxis` of a tile of shape `Shape` becomes Op over the elements up to j, or
/// from j on (`kIsReverse`), computed in the result's dtype. A group of lanes works on each line,
/// or on a part of it where there are more groups than lines.
template <typename Op, int kAxis, bool kIsReverse, typename Shape, typename ResultTile,
          typename TileType>
TILEWIRE_DEVICE ResultTile scan(const TileType& tile, void* shared) {
  using L = typename Operand<TileType>::Layout;
  using C = typename ResultTile::Element;
  using K = typename ResultTile::Layout;
  constexpr int kSize = Shape::size(kAxis);
  constexpr int kInner = inner_size<Shape>(kAxis);
  constexpr int kLines = L::kElements / kSize;
  constexpr int kLanes = threads_per_result(kLines, L::kThreads);
  constexpr int kGroups = L::kThreads / kLanes;
  constexpr int kParts = scan_parts(kLines, L::kThreads);
  constexpr int kSteps = divide_up(divide_up(kSize, kParts), kLanes);
  constexpr int kRounds = divide_up(kLines * kParts, kGroups);
  constexpr int kPiece = piece_elements(L::kElements, sizeof(C));
  constexpr int kPieces = divide_up(L::kElements, kPiece);
  C* piece = static_cast<C*>(shared);
  C carried[kRounds];
  TILEWIRE_UNROLL
  for (int round = 0; round < kRounds; ++round) carried[round] = Op::template neutral<C>();

  ResultTile result;
  for (int number = 0; number < kPieces; ++number) {
    const int start = (kIsReverse ? kPieces - 1 - number : number) * kPiece;
    if (number > 0) meet();
    put_widened<kPiece>(tile, start, piece);
    meet();
    TILEWIRE_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const int unit = round * kGroups + static_cast<int>(threadIdx.x) / kLanes;
      const int line = unit / kParts;
      const int begin = unit % kParts * kSteps * kLanes;
      const bool is_there = line < kLines;
      const LinePart<kSize, kInner, kIsReverse> part = {
          begin, is_there ? smaller(begin + kSteps * kLanes, kSize) : 0,
          line / kInner * kSize * kInner + line % kInner - start, kPiece};
      if constexpr (kParts == 1) {
        carried[round] = scan_part<Op, kSteps, kLanes>(part, piece, carried[round]);
      } else {
        static_assert(kRounds == 1);
        C* totals = piece + kPiece;
        const C total = scan_part<Op, kSteps, kLanes>(part, piece, Op::template neutral<C>());
        if (is_there && threadIdx.x % kLanes == 0) totals[unit] = total;
        meet();
        if (is_there) {
          carried[0] = add_parts_before<Op, kParts, kLanes>(
              part, unit % kParts, totals + line * kParts, piece, carried[0]);
        }
      }
    }
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      const int index = K::element(threadIdx.x, i) - start;
      if (index >= 0 && index < kPiece && K::holds(threadIdx.x, i)) result.set(i, piece[index]);
    }
  }
  return result;
}

}  // namespace tilewire::device
