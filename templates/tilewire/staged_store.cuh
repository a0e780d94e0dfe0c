// Results on their way out: tiles in the layout of products (fragment_layout.cuh) go through shared
// memory to the tensor copy engine, which stores them while the threads go on. Every warp stores
// its own rows and waits for nobody else.
#pragma once

#include "tilewire/fragment_layout.cuh"
#include "tilewire/operators.cuh"
#include "tilewire/staged_layout.cuh"
#include "tilewire/tma.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

/// Four matrices of 8 rows of 16 bytes to shared memory; each lane names one row.
TILEWIRE_DEVICE void store_matrices(uint32_t row, const uint32_t (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}
/// Two of them; the addresses of the upper 16 lanes are ignored.
TILEWIRE_DEVICE void store_matrices(uint32_t row, const uint32_t (&words)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(words[0]),
               "r"(words[1])
               : "memory");
}

/// Two neighbouring elements to shared memory.
template <typename TileType>
TILEWIRE_DEVICE void put_pair(uint32_t to, const TileType& tile, int slot) {
  using T = typename TileType::Element;
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(tile.bits(slot)),
                 "r"(tile.bits(slot + 1))
                 : "memory");
  } else {
    static_assert(sizeof(T) == 1);
    uint8_t bytes[2];
    const T values[] = {tile.get(slot), tile.get(slot + 1)};
    __builtin_memcpy(bytes, values, 2);
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(to),
                 "h"(static_cast<uint16_t>(bytes[0] | bytes[1] << 8))
                 : "memory");
  }
}

/// Writes this warp's 16 rows of columns from `kFirst` on to a piece that lies `offset` bytes
/// behind `staging`, where the swizzle's pattern begins. `slot`: of the block's first column.
template <typename P, typename TileType>
TILEWIRE_DEVICE void put_piece_rows(uint32_t staging, int offset, const TileType& tile, int slot) {
  const int lane = threadIdx.x % kWarpThreads;
  if constexpr (P::kElementBytes == 2) {
    // Matrices: rows 0 … 7 and 8 … 15 of 8 columns, then of the next 8.
    const int row = offset + lane % 16 * P::kRowBytes;
    TILEWIRE_UNROLL
    for (int unit = 0; unit < P::kRowBytes / 16; unit += 2) {
      const int first = slot + unit * 4;
      if constexpr (P::kRowBytes >= 32) {
        const uint32_t words[] = {tile.bits(first), tile.bits(first + 2), tile.bits(first + 4),
                                  tile.bits(first + 6)};
        store_matrices(staging + swizzled(row + (unit + lane / 16) * 16, P::kRowBytes), words);
      } else {
        const uint32_t words[] = {tile.bits(first), tile.bits(first + 2)};
        store_matrices(staging + row, words);
      }
    }
  } else {
    TILEWIRE_UNROLL
    for (int i = 0; i < P::kBoxColumns / 2; i += 2) {
      const int row = lane / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + lane % 4 * 2;
      const int byte = offset + row * P::kRowBytes + column * P::kElementBytes;
      put_pair(staging + swizzled(byte, P::kRowBytes), tile, slot + i);
    }
  }
}

/// Writes a tile to staging shared memory, piece by piece, each by the warp that has its 16 rows;
/// `send(P(), base, offset, i, j)`, by all lanes, starts to store the piece at row i, column j of the
/// tile, which lies `offset` bytes behind `base`; what the first lane starts is a group of its own.
template <int kStagingBytes, typename TileType, typename Send>
TILEWIRE_DEVICE void store_pieces(const TileType& value, void* staging, const Send& send) {
  using T = typename Operand<TileType>::Element;
  using F = typename Operand<TileType>::Layout;
  using P = StorePiece<T, F::kColumns>;
  constexpr int kAcross = F::kColumns / P::kBoxColumns;
  constexpr int kWarps = F::kThreads / kWarpThreads;
  constexpr int kHeld = staged_pieces(F::kBlocks * kAcross, P::kBytes, kStagingBytes / kWarps);
  static_assert(kHeld > 0);
  const int warp = threadIdx.x / kWarpThreads;
  const bool is_first = threadIdx.x % kWarpThreads == 0;
  const uint32_t base = barrier_address(staging);
  const Tile<T, F> tile = value;
  TILEWIRE_UNROLL
  for (int i = 0; i < F::kBlocks * kAcross; ++i) {
    const int block = i / kAcross;
    const int offset = (warp * kHeld + i % kHeld) * P::kBytes;
    if (is_first) wait_bulk_read<kHeld - 1>();
    __syncwarp();
    put_piece_rows<P>(base, offset, tile, block * F::kBlockSlots + i % kAcross * P::kBoxColumns / 2);
    fence_proxy_async();
    __syncwarp();
    send(P(), base, offset, F::warp_row(static_cast<int>(threadIdx.x), block),
         i % kAcross * P::kBoxColumns);
    if (is_first) commit_stores();
  }
}

/// Starts to store a tile at element (row, column) of the tensor that `map` describes, innermost
/// coordinate first, with any others behind; the map's box is that of `StorePiece`. What lies
/// outside of the tensor isn't stored. `staging`: `kStagingBytes` bytes for the whole CTA, aligned
/// to 1024 bytes, at least a piece for each warp; only stores use them. By all consumers.
template <int kStagingBytes, typename TileType, typename... Rest>
TILEWIRE_DEVICE void store_staged(const TileType& tile, const TensorMap& map, void* staging,
                                  int column, int row, Rest... rest) {
  store_pieces<kStagingBytes>(
      tile, staging, [&](auto, uint32_t base, int offset, int i, int j) {
        if (threadIdx.x % kWarpThreads != 0) return;
        const int at[] = {column + j, row + i, rest...};
        store_box(map, at, base + offset);
      });
}

/// Waits until shared memory of this thread's stores may be used otherwise, or given up.
TILEWIRE_DEVICE void leave_staging() { wait_bulk_read<0>(); }
/// Waits until this thread's stores are performed: before something releases them.
TILEWIRE_DEVICE void drain_stores() { wait_bulk_stores(); }

}  // namespace tilewire::device
#endif
