// Tiles on their way between the layout of products (fragment_layout.cuh) and memory, where they
// are rows whose neighbours lie in neighbouring lanes. Every warp has shared memory of its own for
// that and waits for nobody else.
#pragma once

#include "tilewire/fragment_layout.cuh"
#include "tilewire/memory.cuh"

namespace tilewire::device {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kHasStoreMatrices = false;
#else
inline constexpr bool kHasStoreMatrices = true;
#endif

/// threadIdx.x, for what follows from it at one use. Where a kernel has few registers to spare, as
/// it says, both are computed each time: the compiler would do it once, in front of the loop over
/// tiles, and keep dozens of places in registers over all products.
TILEWIRE_DEVICE unsigned this_thread() {
#if defined(TILEWIRE_FEW_REGISTERS)
  unsigned thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
#else
  return threadIdx.x;
#endif
}

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
/// Four matrices of 8 rows of 16 bytes to shared memory; each lane names one row.
TILEWIRE_DEVICE void store_matrices(void* row, const uint32_t (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(row))),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}
/// Two of them; the addresses of the upper 16 lanes are ignored.
TILEWIRE_DEVICE void store_matrices(void* row, const uint32_t (&words)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(row))),
               "r"(words[0]), "r"(words[1])
               : "memory");
}
#endif

/// Two neighbouring 16-bit elements, from an even slot on.
template <typename T, typename L>
TILEWIRE_DEVICE uint32_t pair_of(const Tile<T, L>& tile, int slot) {
  if constexpr (kIsPaired<T, L>) {
    return tile.bits(slot);
  } else {
    return uint16_t(tile.get(slot)) | uint32_t(uint16_t(tile.get(slot + 1))) << 16;
  }
}
/// Rounded here: a tile of all pairs would be in registers beside what they are made of.
template <typename Op, typename T, typename L, typename... A>
TILEWIRE_DEVICE uint32_t pair_of(const Lazy<Op, T, L, A...>& lazy, int slot) {
  if constexpr (kIsPaired<T, L>) {
    return narrow_pair(T(), lazy.wide(slot), lazy.wide(slot + 1));
  } else {
    return uint16_t(element(lazy, slot)) | uint32_t(uint16_t(element(lazy, slot + 1))) << 16;
  }
}

/// Writes a piece of this warp's rows, whose first slot is `slot`, to `piece`.
template <typename R, typename TileType>
TILEWIRE_DEVICE void put_lines(const TileType& tile, int slot, char* piece) {
  using T = typename Operand<TileType>::Element;
  const int lane = this_thread() % kWarpThreads;
  if constexpr (sizeof(T) == 2 && !kHasStoreMatrices) {
    TILEWIRE_UNROLL
    for (int i = 0; i < R::kPieceSlots; i += 2) {
      const int row = lane / 4 + i / 2 % 2 * 8;
      *word_at<uint32_t>(piece + R::offset(row, i / 4 * 8 + lane % 4 * 2)) =
          pair_of(tile, slot + i);
    }
  } else if constexpr (sizeof(T) == 2) {
    // Matrices: rows 0 … 7 and 8 … 15 of 8 columns, then of the next 8.
    TILEWIRE_UNROLL
    for (int i = 0; i < R::kPieceSlots; i += 8) {
      if constexpr (R::kPieceSlots >= 8) {
        const uint32_t words[] = {pair_of(tile, slot + i), pair_of(tile, slot + i + 2),
                                  pair_of(tile, slot + i + 4), pair_of(tile, slot + i + 6)};
        store_matrices(piece + R::offset(lane % 16, i * 2 + lane / 16 * 8), words);
      } else {
        const uint32_t words[] = {pair_of(tile, slot), pair_of(tile, slot + 2)};
        store_matrices(piece + R::offset(lane % 16, 0), words);
      }
    }
  } else {
    using W = typename Word<2 * sizeof(T)>::type;
    TILEWIRE_UNROLL
    for (int i = 0; i < R::kPieceSlots; i += 2) {
      const T both[] = {element(tile, slot + i), element(tile, slot + i + 1)};
      W word;
      __builtin_memcpy(&word, both, sizeof(word));
      const int row = lane / 4 + i / 2 % 2 * 8;
      *word_at<W>(piece + R::offset(row, i / 4 * 8 + lane % 4 * 2)) = word;
    }
  }
}

/// A tile in rows, `kVector` neighbours to a thread. `shared`: `fragment_rows_bytes` bytes, aligned
/// to 16, that only such calls use. Whole warps take part.
template <int kVector, typename TileType>
TILEWIRE_DEVICE auto to_rows(const TileType& tile, void* shared) {
  using T = typename Operand<TileType>::Element;
  using F = typename Operand<TileType>::Layout;
  using R = FragmentRows<F, static_cast<int>(sizeof(T)), kVector>;
  char* piece = static_cast<char*>(shared) + threadIdx.x / kWarpThreads * R::kPieceBytes;
  Tile<T, R> result;
  TILEWIRE_UNROLL
  for (int i = 0; i < R::kPieces; ++i) {
    __syncwarp();  // the piece before is read
    put_lines<R>(tile, R::fragment_slot(i), piece);
    __syncwarp();
    TILEWIRE_UNROLL
    for (int j = 0; j < R::kPieceSlots; j += kVector) {
      const int at = R::vector(threadIdx.x, j);
      read<kVector>(result, i * R::kPieceSlots + j,
                    reinterpret_cast<T*>(piece + R::offset(R::line(at), R::place(at))));
    }
  }
  return result;
}

/// Stores neighbours that lie in shared memory, as far as they are inside.
template <int kVector, Cache kCache, typename A, typename T>
TILEWIRE_DEVICE void store_inside(const A& access, int index, T* from) {
  using W = typename Word<kVector * sizeof(T)>::type;
  const Run run = access.run(static_cast<unsigned>(index), kVector, true);
  T* to = access.pointer + run.offset;
  if (run.first <= 0 && run.last >= kVector) {
    put<kCache>(word_at<W>(to), *word_at<W>(from));
    return;
  }
  TILEWIRE_ROLLED
  for (int i = 0; i < kVector; ++i) {
    if (i >= run.first && i < run.last) put_element<kCache>(to + i, from[i]);
  }
}

/// This thread's number. Beside products of `mma.sync`, whose operands pass through registers, it
/// is computed anew at each call: else offsets of rows that depend on it are kept over the
/// products.
TILEWIRE_DEVICE int thread_of_rows() {
  int thread = static_cast<int>(this_thread());
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("" : "+r"(thread));
#endif
  return thread;
}

/// `store` of a tile in the layout of products; `shared` as for `to_rows`.
template <int kVector, Cache kCache = Cache::kDefault, typename A, typename TileType>
TILEWIRE_DEVICE void store_rows(const A& access, const TileType& tile, void* shared) {
  using T = typename Operand<TileType>::Element;
  using F = typename Operand<TileType>::Layout;
  constexpr int kNow = row_vector(kVector, F::kColumns, static_cast<int>(sizeof(T)));
  using R = FragmentRows<F, static_cast<int>(sizeof(T)), kNow>;
  using W = typename Word<kNow * sizeof(T)>::type;
  static_assert(A::kElements == F::kElements);
  if (!F::has_rows(threadIdx.x)) return;
  const int thread = thread_of_rows();
  const WholeRows rows = access.whole_rows();
  const bool has_all = rows.first == 0 && rows.last == F::kRows;
  char* piece = static_cast<char*>(shared) + thread / kWarpThreads * R::kPieceBytes;
  const auto place_of = [piece, thread](int slot) {
    const int vector = R::vector(thread, slot);
    return reinterpret_cast<T*>(piece + R::offset(R::line(vector), R::place(vector)));
  };
  TILEWIRE_UNROLL
  for (int i = 0; i < R::kPieces; ++i) {
    const int first_slot = i * R::kPieceSlots;
    __syncwarp();  // the piece before is read
    put_lines<R>(tile, R::fragment_slot(i), piece);
    __syncwarp();
    if (has_all) {
      TILEWIRE_UNROLL
      for (int j = 0; j < R::kPieceSlots; j += kNow) {
        const int slot = first_slot + j;
        T* to = access.pointer + access.offset(R::row(thread, slot), R::column(thread, slot));
        put<kCache>(word_at<W>(to), *word_at<W>(place_of(slot)));
      }
    } else {
      TILEWIRE_ROLLED
      for (int j = 0; j < R::kPieceSlots; j += kNow) {
        const int slot = first_slot + j;
        const int row = R::row(thread, slot);
        if (rows.is_cut) {
          store_inside<kNow, kCache>(access, R::element(thread, slot), place_of(slot));
        } else if (row >= rows.first && row < rows.last) {
          T* to = access.pointer + access.offset(row, R::column(thread, slot));
          put<kCache>(word_at<W>(to), *word_at<W>(place_of(slot)));
        }
      }
    }
  }
}

/// Two neighbouring elements of a tile of products, from shared memory.
template <typename T, typename L>
TILEWIRE_DEVICE void take_pair(Tile<T, L>& tile, int slot, char* from) {
  using W = typename Word<2 * sizeof(T)>::type;
  const W word = *word_at<W>(from);
  if constexpr (kIsPaired<T, L>) {
    tile.set_bits(slot, word);
  } else {
    T both[2];
    __builtin_memcpy(both, &word, sizeof(word));
    tile.set(slot, both[0]);
    tile.set(slot + 1, both[1]);
  }
}

/// Neighbours of a row, as far as they are inside; the others are 0.
template <int kVector, Cache kCache, typename A, typename T>
TILEWIRE_DEVICE void load_inside(const A& access, int index, T* to) {
  const Run run = access.run(static_cast<unsigned>(index), kVector, true);
  TILEWIRE_ROLLED
  for (int i = 0; i < kVector; ++i) {
    to[i] = i >= run.first && i < run.last ? fetch_element<kCache>(access.pointer + run.offset + i)
                                           : T{};
  }
}

/// A tile in the layout of products `F` on its way from memory: vectors of rows find their threads
/// through shared memory, piece by piece, the next piece under way meanwhile. `shared` as for
/// `to_rows`.
template <typename T, typename F, int kVector, Cache kCache, typename A>
class IncomingRows {
  static constexpr int kNow = row_vector(kVector, F::kColumns, static_cast<int>(sizeof(T)));
  using R = FragmentRows<F, static_cast<int>(sizeof(T)), kNow>;
  using W = typename Word<kNow * sizeof(T)>::type;
  static constexpr int kWords = R::kPieceSlots / kNow;  // of a thread's part of a piece

 public:
  static constexpr int kPieces = R::kPieces;
  static constexpr int kPieceSlots = R::kPieceSlots;
  /// Where a piece belongs in the registers of a tile.
  static TILEWIRE_CONSTEXPR int slot_of(int piece) { return R::fragment_slot(piece); }
  static TILEWIRE_CONSTEXPR int piece_at(int slot) {
    return slot / F::kBlockSlots * R::kAcross + slot % F::kBlockSlots / R::kPieceSlots;
  }

  TILEWIRE_DEVICE IncomingRows(const A& access, void* shared)
      : access_(access), thread_(thread_of_rows()) {
    const WholeRows exist = access.whole_rows();
    has_all_ = exist.first == 0 && exist.last == F::kRows;
    piece_ = static_cast<char*>(shared) + thread_ / kWarpThreads * R::kPieceBytes;
    if (F::has_rows(thread_) && has_all_) fetch_piece(0);
  }

  /// The next piece, number `i`, into the registers of `tile` from `slot` on.
  template <typename TileType>
  TILEWIRE_DEVICE void take(TileType& tile, int slot, int i) {
    if (!F::has_rows(thread_)) return;
    __syncwarp();  // the piece before is read
    if (has_all_) {
      TILEWIRE_UNROLL
      for (int k = 0; k < kWords; ++k) {
        *word_at<W>(place(R::vector(thread_, k * kNow))) = words_[k];
      }
      if (i + 1 < R::kPieces) fetch_piece(i + 1);
    } else {
      TILEWIRE_ROLLED
      for (int j = 0; j < R::kPieceSlots; j += kNow) {
        load_inside<kNow, kCache>(access_, R::element(thread_, i * R::kPieceSlots + j),
                                  place(R::vector(thread_, j)));
      }
    }
    __syncwarp();
    const int lane = thread_ % kWarpThreads;
    TILEWIRE_UNROLL
    for (int k = 0; k < R::kPieceSlots; k += 2) {
      const int row = lane / 4 + k / 2 % 2 * 8;
      take_pair(tile, slot + k, piece_ + R::offset(row, k / 4 * 8 + lane % 4 * 2));
    }
  }

 private:
  TILEWIRE_DEVICE T* place(int at) const {
    return reinterpret_cast<T*>(piece_ + R::offset(R::line(at), R::place(at)));
  }
  TILEWIRE_DEVICE void fetch_piece(int i) {
    TILEWIRE_UNROLL
    for (int k = 0; k < kWords; ++k) {
      const int slot = i * R::kPieceSlots + k * kNow;
      const int64_t offset = access_.offset(R::row(thread_, slot), R::column(thread_, slot));
      words_[k] = fetch<kCache>(word_at<W>(access_.pointer + offset));
    }
  }

  A access_;
  int thread_;
  bool has_all_;
  char* piece_;
  W words_[kWords];
};

/// `load` of a tile in the layout of products.
template <typename ResultTile, int kVector, Cache kCache = Cache::kDefault, typename A>
TILEWIRE_DEVICE ResultTile load_rows(const A& access, void* shared) {
  using Rows =
      IncomingRows<typename ResultTile::Element, typename ResultTile::Layout, kVector, kCache, A>;
  ResultTile result;
  Rows rows(access, shared);
  TILEWIRE_UNROLL
  for (int i = 0; i < Rows::kPieces; ++i) rows.take(result, Rows::slot_of(i), i);
  return result;
}

}  // namespace tilewire::device
