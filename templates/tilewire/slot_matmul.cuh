// Products of operands that lie in a slot of a ring without roles (common_ring.cuh): all warps
// multiply, each its rows of the result, by `mma.sync`.
#pragma once

#include "tilewire/common_ring.cuh"
#include "tilewire/held_words.cuh"
#include "tilewire/mma.cuh"
#include "tilewire/operators.cuh"

namespace tilewire::device {

/// Words as they lie in a slot become what the tensor cores read.
template <typename Element>
TILEWIRE_DEVICE void convert_words(uint32_t (&words)[4]) {
  if constexpr (kKind<Element> == Kind::kFloat) {
    TILEWIRE_UNROLL
    for (int i = 0; i < 4; ++i) words[i] = to_tf32(float_of_bits(words[i])).bits;
  }
}

/// The words of 16 lines of A, or of 16 columns of B, for one step along K.
template <typename S>
TILEWIRE_DEVICE void load_words(uint32_t (&words)[4], const char* tile, int lane, int lines,
                                int step) {
  const char* const row = tile + place_behind<S>(lane, lines, step);
  if constexpr (S::kDepthIsContiguous) {
    load_matrices(words, row);
  } else {
    load_turned_matrices(words, row);
  }
  convert_words<typename S::Element>(words);
}

/// sums += left · right, of 16 rows and 16 columns of elements L and R.
template <typename L, typename R, typename Sum>
TILEWIRE_DEVICE void multiply_words(Sum (&sums)[2][4], const uint32_t (&left)[4],
                                    const uint32_t (&right)[4]) {
  const typename Staged<L>::type a{};
  const typename Staged<R>::type b{};
  const uint32_t halves[2][2] = {{right[0], right[1]}, {right[2], right[3]}};
  multiply_add(a, b, sums[0], left, halves[0]);
  multiply_add(a, b, sums[1], left, halves[1]);
}

/// An accumulator's part that one warp's products of 16 columns add to: where it begins.
template <typename F>
TILEWIRE_DEVICE constexpr int first_sum(int block, int column) {
  return block * F::kBlockSlots + column / 2;
}

/// acc += left · right: `left` are the words of this warp's rows, by step along K and block of 64
/// rows; the staged tile `R` lies at byte `kOffset` of the ring's slot. `kIsApart`: each element's
/// products of this slot are summed up from 0 and then added; else the accumulator goes through the
/// tensor cores.
template <typename L, typename R, int kOffset, bool kIsApart, typename Sum, typename F, int kCount,
          typename RingType>
TILEWIRE_DEVICE void add_products(Tile<Sum, F>& acc, const uint32_t (&left)[kCount][4],
                                  const RingType& ring) {
  constexpr int kSteps = kCount / F::kBlocks;
  static_assert(F::kIsFull && R::kLines == F::kColumns && R::kLines % 16 == 0);
  static_assert(kSteps * kMmaBytes == R::kDepth * R::kElementBytes);
  const char* const right_tile = ring.slot() + kOffset;
  const int right_lane = right_place<R>(threadIdx.x % kWarpThreads);
  TILEWIRE_UNROLL
  for (int column = 0; column < F::kColumns; column += 16) {
    Sum sums[F::kBlocks][2][4] = {};
    if constexpr (!kIsApart) {
      TILEWIRE_UNROLL
      for (int i = 0; i < F::kBlocks * 8; ++i) {
        sums[i / 8][i / 4 % 2][i % 4] = acc.get(first_sum<F>(i / 8, column) + i % 8);
      }
    }
    TILEWIRE_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      uint32_t right[4];
      load_words<R>(right, right_tile, right_lane, column, step);
      TILEWIRE_UNROLL
      for (int block = 0; block < F::kBlocks; ++block) {
        multiply_words<L, typename R::Element>(sums[block], left[step * F::kBlocks + block], right);
      }
    }
    TILEWIRE_UNROLL
    for (int i = 0; i < F::kBlocks * 8; ++i) {
      const int slot = first_sum<F>(i / 8, column) + i % 8;
      const Sum sum = sums[i / 8][i / 4 % 2][i % 4];
      acc.set(slot, kIsApart ? Add::of(acc.get(slot), sum) : sum);
    }
  }
}

/// The same of a staged tile `L` at byte `kLeftOffset` of the slot.
template <typename L, int kLeftOffset, typename R, int kRightOffset, bool kIsApart, typename Sum,
          typename F, typename RingType>
TILEWIRE_DEVICE void add_staged_products(Tile<Sum, F>& acc, const RingType& ring) {
  static_assert(L::kLines == F::kRows && L::kDepth == R::kDepth);
  constexpr int kSteps = L::kDepth * L::kElementBytes / kMmaBytes;
  const int lane = threadIdx.x % kWarpThreads;
  const int left_lane = left_place<L>(F::warp_row(threadIdx.x, 0), lane);
  uint32_t left[kSteps * F::kBlocks][4];
  TILEWIRE_UNROLL
  for (int i = 0; i < kSteps * F::kBlocks; ++i) {
    load_words<L>(left[i], ring.slot() + kLeftOffset, left_lane, i % F::kBlocks * kWgmmaRows,
                  i / F::kBlocks);
  }
  add_products<typename L::Element, R, kRightOffset, kIsApart>(acc, left, ring);
}

/// acc += left · right, of staged tiles `L` and `R` that lie at these bytes of the ring's slot.
template <typename L, int kLeftOffset, typename R, int kRightOffset, typename Sum, typename F,
          typename RingType>
TILEWIRE_DEVICE void multiply_slot(Tile<Sum, F>& acc, const RingType& ring) {
  add_staged_products<L, kLeftOffset, R, kRightOffset, false>(acc, ring);
}

/// The same where tensor cores sum in fewer bits than `Sum` has (fp8): only a slot's products are.
template <typename L, int kLeftOffset, typename R, int kRightOffset, typename Sum, typename F,
          typename RingType>
TILEWIRE_DEVICE void multiply_slot_exactly(Tile<Sum, F>& acc, const RingType& ring) {
  add_staged_products<L, kLeftOffset, R, kRightOffset, true>(acc, ring);
}

/// acc += left · right, of a left operand in registers.
template <typename R, int kRightOffset, typename F, typename TileA, typename RingType>
TILEWIRE_DEVICE void multiply_held_slot(Tile<float, F>& acc, const TileA& a, const RingType& ring) {
  using T = typename R::Element;
  using L = typename Operand<TileA>::Layout;
  static_assert(L::kRows == F::kRows && L::kColumns == R::kDepth && L::kBlocks == F::kBlocks);
  const Tile<T, L> left = a;
  uint32_t words[kHeldWords<L>][4];
  take_words(words, left, 0);
  add_products<T, R, kRightOffset, false>(acc, words, ring);
}

}  // namespace tilewire::device
