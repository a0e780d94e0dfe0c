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

/// Starts a block's products with columns from `kColumn` on, for the elements of K from `kDepth`
/// on.
template <typename L, typename R, int kColumn, int kColumns, int kDepth>
TILEWIRE_DEVICE void start_columns(float* sums, uint64_t left, Descriptor right, int use) {
  constexpr int kNow = wgmma_columns(kColumns - kColumn);
  start_product<kNow, !L::kDepthIsContiguous, !R::kDepthIsContiguous>(
      typename L::Element(), typename R::Element(), sums + kColumn / 2, left,
      right.behind(R::start(kColumn, kDepth)), use);
  if constexpr (kColumn + kNow < kColumns) {
    start_columns<L, R, kColumn + kNow, kColumns, kDepth>(sums, left, right, use);
  }
}

/// Starts this warpgroup's products for the elements of K from `kDepth` on.
template <typename L, typename R, int kDepth, typename F>
TILEWIRE_DEVICE void start_depths(Tile<float, F>& acc, Descriptor left, Descriptor right, int use) {
  TILEWIRE_UNROLL
  for (int block = 0; block < F::kBlocks; ++block) {
    start_columns<L, R, 0, F::kColumns, kDepth>(acc.values + block * F::kBlockSlots,
                                                left.behind(L::start(block * kWgmmaRows, kDepth)),
                                                right, use);
  }
  constexpr int kNext = kDepth + kWgmmaDepthBytes / L::kElementBytes;
  if constexpr (kNext < L::kDepth) start_depths<L, R, kNext>(acc, left, right, 1);
}

/// Starts acc (+)= left · right of staged tiles `L` and `R` at these addresses in shared memory,
/// between `begin_products` and `commit_products`. `accumulates`: false where acc counts as 0.
template <typename L, typename R, typename F>
TILEWIRE_DEVICE void start_products(Tile<float, F>& acc, uint32_t left, uint32_t right,
                                    bool accumulates) {
  static_assert(L::kLines == F::kRows && R::kLines == F::kColumns && L::kDepth == R::kDepth);
  static_assert(L::kElementBytes == R::kElementBytes);
  const int warpgroup =
      F::kWarpgroups == 1 ? 0 : __shfl_sync(~0u, threadIdx.x / kWarpgroupThreads, 0);
  const uint32_t rows = left + warpgroup * L::start(F::kBlocks * kWgmmaRows, 0);
  start_depths<L, R, 0>(acc, describe<L>(rows), describe<R>(right), accumulates);
}

/// acc (+)= left · right, whose tiles `L` and `R` lie one behind the other in the ring's next slot.
/// The product is under way on return: until `finish`, `acc` may go to further calls of `multiply`
/// only.
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

/// Waits for all products and gives the ring's last slot back.
template <typename F, typename RingType>
TILEWIRE_DEVICE void finish(Tile<float, F>& acc, RingType& ring) {
  wait_products<0>();
  settle(acc.values);
  ring.release();
}

}  // namespace tilewire::device
#endif
