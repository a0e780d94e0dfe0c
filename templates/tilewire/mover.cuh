// The mover of a kernel with roles: a warp that carries whole tiles between memory, also of peers,
// and shared memory, while the consumers multiply on.
//
// It runs the same program as the consumers, as far as moving goes. Both meet at one place in
// shared memory, which changes hands in turn: the mover gives it, empty or with a tile that it has
// fetched; the consumers return it, with a tile that they have put there or empty.
#pragma once

#include "tilewire/fragment_rows.cuh"
#include "tilewire/mma.cuh"
#include "tilewire/roles.cuh"

namespace tilewire::device {

/// A tile in that place: row by row.
template <int kColumns, int kElementBytes>
struct MovedRows {
  static constexpr int kPieceSlots = kColumns / 2;  ///< a warp's 16 rows at a time
  static constexpr int kStrideBytes = moved_row_stride(kColumns * kElementBytes);
  static_assert(kColumns * kElementBytes % 16 == 0);
  static TILEWIRE_CONSTEXPR int offset(int row, int column) {
    return row * kStrideBytes + column * kElementBytes;
  }
};

#if defined(__CUDACC__)
/// Takes a warp's 16 rows of a tile from `rows`, into the registers from `slot` on.
template <typename R, typename T, typename L>
TILEWIRE_DEVICE void take_lines(Tile<T, L>& tile, int slot, char* rows) {
  const int lane = threadIdx.x % kWarpThreads;
  if constexpr (kIsPaired<T, L> && R::kPieceSlots % 8 == 0) {
    TILEWIRE_UNROLL
    for (int i = 0; i < R::kPieceSlots; i += 8) {
      uint32_t words[4];
      load_matrices(words, rows + R::offset(lane % 16, i * 2 + lane / 16 * 8));
      TILEWIRE_UNROLL
      for (int k = 0; k < 4; ++k) tile.set_bits(slot + i + 2 * k, words[k]);
    }
  } else {
    TILEWIRE_UNROLL
    for (int i = 0; i < R::kPieceSlots; i += 2) {
      take_pair(tile, slot + i,
                rows + R::offset(lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2));
    }
  }
}

/// The group of threads (group.cuh) that the mover is.
struct MoverWarp {
  static TILEWIRE_DEVICE int index() { return threadIdx.x % kWarpThreads; }
  static TILEWIRE_DEVICE void acquired() {
    __syncwarp();
    fence_proxy_async();
  }
};

/// Whose turn it is, in shared memory.
struct MoverTurns {
  uint64_t given;
  uint64_t returned;
};

/// A thread's object is its own: the mover's and a consumer's state go separate ways.
template <int kThreads>
class Mover {
 public:
  /// By all threads of the CTA, which meet behind it. `place`: aligned to 16 bytes, room for the
  /// largest tile.
  TILEWIRE_DEVICE Mover(MoverTurns& turns, void* place)
      : place_(static_cast<char*>(place)),
        given_(barrier_address(&turns.given)),
        returned_(barrier_address(&turns.returned)) {
    if (threadIdx.x != 0) return;
    init_barrier(given_, 1);
    init_barrier(returned_, kThreads / kWarpThreads);
  }

  // The consumers, all of them.

  /// What they hand over, the mover drains: behind all that they have done before.
  template <typename TileType>
  TILEWIRE_DEVICE void put(const TileType& tile) {
    using T = typename Operand<TileType>::Element;
    using F = typename Operand<TileType>::Layout;
    using R = MovedRows<F::kColumns, static_cast<int>(sizeof(T))>;
    wait_given();
    const int thread = static_cast<int>(threadIdx.x);
    if (F::has_rows(thread)) {
      TILEWIRE_UNROLL
      for (int i = 0; i < F::kBlocks; ++i) {
        put_lines<R>(tile, i * F::kBlockSlots, place_ + R::offset(F::warp_row(thread, i), 0));
      }
    }
    fence_proxy_async();
    give_back();
  }
  /// What the mover has fetched next.
  template <typename ResultTile>
  TILEWIRE_DEVICE ResultTile take() {
    using T = typename ResultTile::Element;
    using F = typename ResultTile::Layout;
    using R = MovedRows<F::kColumns, static_cast<int>(sizeof(T))>;
    ResultTile result;
    wait_given();
    const int thread = static_cast<int>(threadIdx.x);
    if (F::has_rows(thread)) {
      TILEWIRE_UNROLL
      for (int i = 0; i < F::kBlocks; ++i) {
        take_lines<R>(result, i * F::kBlockSlots, place_ + R::offset(F::warp_row(thread, i), 0));
      }
    }
    give_back();
    return result;
  }
  /// Behind it all tiles that the mover was handed are stored, and told of.
  TILEWIRE_DEVICE void await() {
    wait_given();
    give_back();
  }

  // The mover, the whole warp.

  /// Takes what the consumers put, to be drained once or more.
  TILEWIRE_DEVICE void receive() {
    wait_bulk_read<0>();
    give();
    wait_returned();
    wait_bulk_stores();  // what is stored now may be what was stored before
  }
  /// Starts to store what was received.
  template <typename A>
  TILEWIRE_DEVICE void drain(const A& access) const {
    const Rows rows = rows_of(access);
    if (rows.are_aligned()) {
      TILEWIRE_ROLLED
      for (int row = lane(); row < rows.count; row += kWarpThreads) {
        bulk_store(rows.memory + row * rows.stride, rows.shared + row * rows.shared_stride,
                   rows.bytes);
      }
    } else {
      copy(rows, [](auto* memory, auto* shared) { *memory = *shared; });
    }
  }
  /// Brings a tile for the consumers' `take`; elements that don't exist are 0.
  template <typename A>
  TILEWIRE_DEVICE void fetch(const A& access) {
    settle();
    const Rows rows = rows_of(access);
    if (!rows.is_whole) clear(access);
    if (rows.are_aligned()) {
      __syncwarp();
      if (lane() == 0) arrive_expecting(given_, rows.count * rows.bytes);
      __syncwarp();
      TILEWIRE_ROLLED
      for (int row = lane(); row < rows.count; row += kWarpThreads) {
        start_bulk_load(rows.shared + row * rows.shared_stride, rows.memory + row * rows.stride,
                        rows.bytes, given_);
      }
    } else {
      copy(rows, [](auto* memory, auto* shared) { *shared = *memory; });
      give();
    }
    wait_returned();
  }
  /// Behind it all that was drained is stored, and may be told of.
  TILEWIRE_DEVICE void settle() const {
    wait_bulk_stores();
    fence_proxy_async();
    __syncwarp();
  }
  /// For the consumers' `await`.
  TILEWIRE_DEVICE void finish() {
    settle();
    give();
    wait_returned();
  }

 private:
  /// The part of a tile that exists.
  struct Rows {
    char* memory;
    char* shared;
    int64_t stride;
    int shared_stride;
    int count;
    int bytes;
    bool is_whole;

    /// For the copy engine.
    TILEWIRE_DEVICE bool are_aligned() const { return bits() % 16 == 0; }
    TILEWIRE_DEVICE uint32_t bits() const {
      return static_cast<uint32_t>(reinterpret_cast<uint64_t>(memory)) |
             static_cast<uint32_t>(reinterpret_cast<uint64_t>(shared)) |
             static_cast<uint32_t>(stride) | static_cast<uint32_t>(bytes);
    }
  };

  static TILEWIRE_DEVICE int lane() { return static_cast<int>(threadIdx.x % kWarpThreads); }

  template <typename A>
  TILEWIRE_DEVICE Rows rows_of(const A& access) const {
    using T = typename A::Element;
    using R = MovedRows<A::num_columns(), static_cast<int>(sizeof(T))>;
    static_assert(A::kRank == 2);
    const Span rows = access.template existing<0>();
    const Span columns = access.template existing<1>();
    Rows result;
    result.memory =
        reinterpret_cast<char*>(access.pointer + access.offset(rows.first, columns.first));
    result.shared = place_ + R::offset(rows.first, columns.first);
    result.stride = access.strides[0] * static_cast<int64_t>(sizeof(T));
    result.shared_stride = R::kStrideBytes;
    result.count = columns.size() > 0 ? rows.size() : 0;
    result.bytes = columns.size() * static_cast<int>(sizeof(T));
    result.is_whole = result.count * columns.size() == A::kElements;
    return result;
  }

  /// Zeros where nothing exists.
  template <typename A>
  TILEWIRE_DEVICE void clear(const A& access) const {
    using T = typename A::Element;
    using R = MovedRows<A::num_columns(), static_cast<int>(sizeof(T))>;
    const Span rows = access.template existing<0>();
    const Span columns = access.template existing<1>();
    TILEWIRE_ROLLED
    for (int i = lane(); i < A::kElements; i += kWarpThreads) {
      const int row = i / A::num_columns();
      const int column = i % A::num_columns();
      if (!rows.has(row) || !columns.has(column)) {
        *reinterpret_cast<T*>(place_ + R::offset(row, column)) = T{};
      }
    }
  }

  /// What the copy engine doesn't: rows that begin or end elsewhere than at multiples of 16 bytes.
  template <typename Copy>
  static TILEWIRE_DEVICE void copy(const Rows& rows, const Copy& copy_word) {
    if (rows.bits() % 4 == 0) {
      copy_words<uint32_t>(rows, copy_word);
    } else if (rows.bits() % 2 == 0) {
      copy_words<uint16_t>(rows, copy_word);
    } else {
      copy_words<uint8_t>(rows, copy_word);
    }
  }
  template <typename W, typename Copy>
  static TILEWIRE_DEVICE void copy_words(const Rows& rows, const Copy& copy_word) {
    TILEWIRE_ROLLED
    for (int row = 0; row < rows.count; ++row) {
      auto* memory = reinterpret_cast<W*>(rows.memory + row * rows.stride);
      auto* shared = reinterpret_cast<W*>(rows.shared + row * rows.shared_stride);
      TILEWIRE_ROLLED
      for (int i = lane(); i < rows.bytes / static_cast<int>(sizeof(W)); i += kWarpThreads) {
        copy_word(memory + i, shared + i);
      }
    }
    fence_proxy_async();
  }

  TILEWIRE_DEVICE void give() const { arrive_once(given_); }
  TILEWIRE_DEVICE void give_back() const { arrive_once(returned_); }
  /// One lane arrives when all of its warp have come here.
  static TILEWIRE_DEVICE void arrive_once(uint32_t barrier) {
    __syncwarp();
    if (lane() == 0) arrive(barrier);
  }
  TILEWIRE_DEVICE void wait_given() { wait_turn(given_); }
  TILEWIRE_DEVICE void wait_returned() { wait_turn(returned_); }
  TILEWIRE_DEVICE void wait_turn(uint32_t barrier) {
    wait_barrier(barrier, phase_);
    phase_ ^= 1;
  }

  char* place_;
  uint32_t given_;
  uint32_t returned_;
  uint32_t phase_ = 0;
};
#endif

}  // namespace tilewire::device
