// Products of a left operand in registers and a right one in the ring: what was computed of one
// product is multiplied again (attention), or one tile with many that come by.
#pragma once

#include "tilewire/held_words.cuh"
#include "tilewire/staged_matmul.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

/// Starts the products of one block of 64 rows, `words` of them, with columns [kColumn, kEnd);
/// `sums` are those of column `kColumn` and behind.
template <typename R, int kColumn, int kDepth>
TILEWIRE_DEVICE void start_held_columns(float* sums, const uint32_t (&words)[4], Descriptor right,
                                        int use) {
  constexpr int kNow = wgmma_columns(R::kLines - kColumn);
  start_held_product<kNow, !R::kDepthIsContiguous>(typename R::Element(), sums, words,
                                                   right.behind(R::start(kColumn, kDepth)), use);
  if constexpr (kColumn + kNow < R::kLines) {
    start_held_columns<R, kColumn + kNow, kDepth>(sums + kNow / 2, words, right, use);
  }
}

/// The same for all blocks, and all of K from `kDepth` on.
template <typename R, int kBlocks, int kDepth = 0>
TILEWIRE_DEVICE void start_held_blocks(float* sums, const uint32_t (*words)[4], Descriptor right,
                                       int use) {
  TILEWIRE_UNROLL
  for (int block = 0; block < kBlocks; ++block) {
    start_held_columns<R, 0, kDepth>(sums + block * R::kLines / 2, words[block], right, use);
  }
  if constexpr (kDepth + kHeldDepth < R::kDepth) {
    start_held_blocks<R, kBlocks, kDepth + kHeldDepth>(sums, words + kBlocks, right, 1);
  }
}

/// acc += left · right, whose tile `R` lies in the ring's next slot, and `left` in `words`.
template <typename R, typename F, typename L, int kCount, typename RingType>
TILEWIRE_DEVICE void multiply_words(Tile<float, F>& acc, uint32_t (&words)[kCount][4],
                                    uint32_t slot, RingType& ring) {
  static_assert(L::kRows == F::kRows && L::kColumns == R::kDepth && R::kLines == F::kColumns);
  static_assert(L::kThreads == F::kThreads && L::kBlocks == F::kBlocks && F::kIsFull);
  TILEWIRE_UNROLL
  for (int i = 0; i < kCount; ++i) settle(words[i]);
  begin_products();
  start_held_blocks<R, F::kBlocks>(acc.values, words, describe<R>(slot), 1);
  commit_products();
  wait_products<0>();
  ring.release();
  ring.hold();
  ring.release();
}

/// acc += left · right, whose tile `R` lies in the ring's next slot. Between `prepare` and
/// `finish`, as `multiply`; but nothing is under way on return, since the operand's registers may
/// be written again.
template <typename R, typename F, typename TileA, typename RingType>
TILEWIRE_DEVICE void multiply_held(Tile<float, F>& acc, const TileA& a, RingType& ring) {
  using L = typename Operand<TileA>::Layout;
  const Tile<typename R::Element, L> left = a;
  uint32_t words[kHeldWords<L>][4];
  take_words(words, left, 0);
  multiply_words<R, F, L>(acc, words, ring.wait(), ring);
}

/// The same where `left` is read again behind it. ptxas (CUDA 13.0) gives registers that
/// `wgmma` reads in each iteration of a loop to its other operands there as well. So it gets
/// copies, which must look like something else: no address in shared memory has the last bit
/// (from the 24th on they have a CTA's number in its cluster), but ptxas doesn't know.
template <typename R, typename F, typename TileA, typename RingType>
TILEWIRE_DEVICE void multiply_kept(Tile<float, F>& acc, const TileA& a, RingType& ring) {
  using L = typename Operand<TileA>::Layout;
  const Tile<typename R::Element, L> left = a;
  const uint32_t slot = ring.wait();
  uint32_t words[kHeldWords<L>][4];
  take_words(words, left, slot >> 31);
  multiply_words<R, F, L>(acc, words, slot, ring);
}

}  // namespace tilewire::device
#endif
