// Products of operands that a producer brings to shared memory (ring.cuh), summed up in registers
// by the tensor cores while the threads go on: all consumers of the CTA take part.
#pragma once

#include "tilewire/ring.cuh"
#include "tilewire/tile.cuh"
#include "tilewire/wgmma.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

/// What `wgmma` is told of an operand, in two words. The lower one begins with the address, in
/// units of 16 bytes.
struct Descriptor {
  uint32_t low;
  uint32_t high;
  TILEWIRE_DEVICE uint64_t behind(int num_bytes) const {
    return uint64_t{high} << 32 | (low + num_bytes / 16);
  }
};
template <typename S>
TILEWIRE_DEVICE Descriptor describe(uint32_t address) {
  constexpr uint64_t kLayout = S::descriptor();
  return {static_cast<uint32_t>(kLayout) | (address & 0x3ffff) >> 4,
          static_cast<uint32_t>(kLayout >> 32)};
}

/// Starts the products of 64 rows with columns [kColumn, kEnd), for the elements of K from `kDepth`
/// on; `sums` are those of column `kColumn` and behind.
template <typename L, typename R, int kColumn, int kEnd, int kDepth>
TILEWIRE_DEVICE void start_columns(float* sums, uint64_t left, Descriptor right, int use) {
  constexpr int kNow = wgmma_columns(kEnd - kColumn);
  start_product<kNow, !L::kDepthIsContiguous, !R::kDepthIsContiguous>(
      typename L::Element(), typename R::Element(), sums, left,
      right.behind(R::start(kColumn, kDepth)), use);
  if constexpr (kColumn + kNow < kEnd) {
    start_columns<L, R, kColumn + kNow, kEnd, kDepth>(sums + kNow / 2, left, right, use);
  }
}

/// The same for `kBlocks` blocks of 64 rows from row `row` on, and all of K from `kDepth` on.
template <typename L, typename R, int kBlocks, int kColumn, int kEnd, int kDepth = 0>
TILEWIRE_DEVICE void start_blocks(float* sums, Descriptor left, int row, Descriptor right,
                                  int use) {
  TILEWIRE_UNROLL
  for (int block = 0; block < kBlocks; ++block) {
    start_columns<L, R, kColumn, kEnd, kDepth>(
        sums + block * (kEnd - kColumn) / 2,
        left.behind(L::start(row + block * kWgmmaRows, kDepth)), right, use);
  }
  constexpr int kNext = kDepth + kWgmmaDepthBytes / L::kElementBytes;
  if constexpr (kNext < L::kDepth) {
    start_blocks<L, R, kBlocks, kColumn, kEnd, kNext>(sums, left, row, right, 1);
  }
}

/// The rows of a left tile that this warpgroup multiplies.
template <typename L, typename F>
TILEWIRE_DEVICE Descriptor describe_rows(uint32_t left) {
  const int warpgroup =
      F::kWarpgroups == 1 ? 0 : __shfl_sync(~0u, threadIdx.x / kWarpgroupThreads, 0);
  return describe<L>(left + warpgroup * L::start(F::kBlocks * kWgmmaRows, 0));
}

/// Starts acc (+)= left · right of staged tiles `L` and `R` at these addresses in shared memory,
/// between `begin_products` and `commit_products`. `accumulates`: false where acc counts as 0.
template <typename L, typename R, typename F>
TILEWIRE_DEVICE void start_products(Tile<float, F>& acc, uint32_t left, uint32_t right,
                                    bool accumulates) {
  static_assert(L::kLines == F::kRows && R::kLines == F::kColumns && L::kDepth == R::kDepth);
  static_assert(L::kElementBytes == R::kElementBytes);
  start_blocks<L, R, F::kBlocks, 0, F::kColumns>(acc.values, describe_rows<L, F>(left), 0,
                                                 describe<R>(right), accumulates);
}

/// Before the first product of a sum: its value so far is in registers from here on. The compiler
/// would put constants there between products, which then ran one after the other (C7515).
template <typename F>
TILEWIRE_DEVICE void prepare(Tile<float, F>& acc) {
  settle(acc.values);
}

/// acc (+)= left · right, whose tiles `L` and `R` lie one behind the other in the ring's next slot.
/// The product is under way on return: from `prepare` to `finish`, `acc` may go to calls of
/// `multiply` only.
template <typename L, typename R, typename F, typename RingType>
TILEWIRE_DEVICE void multiply(Tile<float, F>& acc, RingType& ring, bool accumulates = true) {
  static_assert(L::kReadBytes <= L::kBytes + R::kBytes);
  const uint32_t slot = ring.wait();
  begin_products();
  start_products<L, R>(acc, slot, slot + L::kBytes, accumulates);
  commit_products();
  wait_products<1>();
  ring.release();
  ring.hold();
}

/// Columns whose products are summed up at once by `multiply_exactly`: what is left of the
/// registers.
TILEWIRE_CONSTEXPR int exact_columns(int columns) {
  int parts = divide_up(columns, 128);
  while (columns % (parts * 8) != 0) ++parts;
  return columns / parts;
}

/// acc += left · right for one part after the other, each summed up by itself.
template <typename L, typename R, int kBlock, int kColumn, typename F>
TILEWIRE_DEVICE void add_parts(Tile<float, F>& acc, Descriptor left, Descriptor right) {
  constexpr int kColumns = exact_columns(F::kColumns);
  float sums[kColumns / 2];
  begin_products();
  start_blocks<L, R, 1, kColumn, kColumn + kColumns>(sums, left, kBlock * kWgmmaRows, right, 0);
  commit_products();
  wait_products<0>();
  settle(sums);
  TILEWIRE_UNROLL
  for (int i = 0; i < kColumns / 2; ++i) {
    acc.values[kBlock * F::kBlockSlots + kColumn / 2 + i] += sums[i];
  }
  if constexpr (kColumn + kColumns < F::kColumns) {
    add_parts<L, R, kBlock, kColumn + kColumns>(acc, left, right);
  } else if constexpr (kBlock + 1 < F::kBlocks) {
    add_parts<L, R, kBlock + 1, 0>(acc, left, right);
  }
}

/// The same for elements of 8 bits, whose products `wgmma` sums up with about 14 bits: it does so
/// for one slot at a time, and the threads sum up these in f32. `acc` begins with a value. Nothing
/// is under way on return; `finish` all the same.
template <typename L, typename R, typename F, typename RingType>
TILEWIRE_DEVICE void multiply_exactly(Tile<float, F>& acc, RingType& ring) {
  static_assert(L::kReadBytes <= L::kBytes + R::kBytes);
  const uint32_t slot = ring.wait();
  add_parts<L, R, 0, 0>(acc, describe_rows<L, F>(slot), describe<R>(slot + L::kBytes));
  ring.hold();
  ring.release();
}

/// Waits for all products and gives the ring's last slot back.
template <typename F, typename RingType>
TILEWIRE_DEVICE void finish(Tile<float, F>& acc, RingType& ring) {
  wait_products<0>();
  settle(acc.values);
  ring.release();
}

}  // namespace tilewire::device
#endif
