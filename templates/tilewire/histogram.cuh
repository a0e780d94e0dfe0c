// Counts of the numbers in a tile. They pass through shared memory: all threads of the CTA take
// part in the __syncthreads inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/operators.cuh"

namespace tilewire::device {

/// Element i of the result is how often i stands in the tile; numbers without a place are left out.
template <typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile histogram(const TileType& tile, void* shared) {
  using L = typename Operand<TileType>::Layout;
  using K = typename ResultTile::Layout;
  constexpr int kPiece = piece_elements(K::kElements, sizeof(int));
  int* counts = static_cast<int*>(shared);
  ResultTile result;
  for (int start = 0; start < K::kElements; start += kPiece) {
    if (start > 0) meet();
    for (int i = threadIdx.x; i < kPiece; i += K::kThreads) counts[i] = 0;
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) {
      // Negative numbers are large as unsigned ones.
      const uint64_t bin = static_cast<uint64_t>(static_cast<int64_t>(element(tile, i))) - start;
      if (bin < kPiece && L::owns(threadIdx.x, i)) atomicAdd(counts + bin, 1);
    }
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      const int index = K::element(threadIdx.x, i) - start;
      if (index >= 0 && index < kPiece && K::holds(threadIdx.x, i)) result.set(i, counts[index]);
    }
  }
  return result;
}

}  // namespace tilewire::device
