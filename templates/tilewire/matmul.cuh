// The `matmul` op: products of register tiles, on the tensor cores or in plain arithmetic.
//
// Operands pass through shared memory, in blocks of the result and pieces along K, padded with
// zeros to whole instructions: any shape is legal. All threads of the CTA take part in the
// __syncthreads inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/mma.cuh"
#include "tilewire/operators.cuh"

namespace tilewire::device {

/// [kBatch, kRows, kDepth] · [kBatch, kDepth, kColumns]. An operand that is transposed has its last
/// two dimensions the other way round.
template <int kBatch_, int kRows_, int kColumns_, int kDepth_, bool kLeftIsTransposed_ = false,
          bool kRightIsTransposed_ = false>
struct Product {
  static constexpr int kBatch = kBatch_;
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kDepth = kDepth_;
  static constexpr bool kLeftIsTransposed = kLeftIsTransposed_;
  static constexpr bool kRightIsTransposed = kRightIsTransposed_;
  static constexpr int kBlockRows = block_rows(kRows);
  static constexpr int kBlockColumns = block_columns(kColumns);
};

/// This thread's number, computed anew at each call: what depends on it isn't kept in registers
/// through a loop around the product, where there are hundreds of addresses of elements.
TILEWIRE_DEVICE int fresh_thread() {
  int thread = static_cast<int>(threadIdx.x);
#if defined(__CUDACC__)
  asm volatile("" : "+r"(thread));
#endif
  return thread;
}

/// A block of an operand: where it begins. Lines are rows of the left operand, columns of the
/// right.
struct Block {
  int batch;
  int line;
  int depth;
};

/// Lines of an operand in shared memory, for a piece of `kBytes` bytes along K of elements S.
template <typename S, int kBytes>
struct Lines {
  static constexpr int kDepth = kBytes / static_cast<int>(sizeof(S));
  static constexpr int kStrideBytes = kBytes + kRowGapBytes;
  char* start;
  TILEWIRE_DEVICE S* at(int line, int depth) const {
    return reinterpret_cast<S*>(start + line * kStrideBytes) + depth;
  }
};

/// Writes the block of a tile of [batches, kLines, kDepth] elements (`kIsInner`: K is innermost,
/// else the lines are) to `to`, `kBlockLines` lines long; zeros where the tile ends.
template <int kLines, int kDepth, bool kIsInner, int kBlockLines, typename Stage, typename S,
          int kBytes, typename TileType>
TILEWIRE_DEVICE void stage(const TileType& tile, Block block, Lines<S, kBytes> to) {
  using L = typename TileType::Layout;
  constexpr int kPiece = Lines<S, kBytes>::kDepth;
  const int thread = fresh_thread();
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    const int index = L::element(thread, i);
    const int inner = index % (kLines * kDepth);
    const int line = (kIsInner ? inner / kDepth : inner % kLines) - block.line;
    const int depth = (kIsInner ? inner % kDepth : inner / kLines) - block.depth;
    if (L::owns(thread, i) && index / (kLines * kDepth) == block.batch && line >= 0 &&
        line < kBlockLines && depth >= 0 && depth < kPiece) {
      *to.at(line, depth) = Stage::of(element(tile, i));
    }
  }
  if constexpr (kLines % kBlockLines != 0 || kDepth % kPiece != 0) {
    for (int i = threadIdx.x; i < kBlockLines * kPiece; i += L::kThreads) {
      const int line = i / kPiece;
      const int depth = i % kPiece;
      if (block.line + line >= kLines || block.depth + depth >= kDepth) *to.at(line, depth) = S{};
    }
  }
}

/// How elements lie in shared memory for plain arithmetic in C.
template <typename C>
struct Plain {
  template <typename T>
  static TILEWIRE_DEVICE C of(T value) {
    return static_cast<C>(widen(value));
  }
};

/// The two operands of a product as they pass through shared memory, as elements A and B.
template <typename P, typename A, typename B, typename StageA, typename StageB>
struct Operands {
  static_assert(sizeof(A) == sizeof(B));
  static constexpr int kLines = P::kBlockRows + P::kBlockColumns;
  static constexpr int kBytes = depth_bytes(kLines, P::kDepth, sizeof(A));
  static constexpr int kPiece = Lines<A, kBytes>::kDepth;  ///< elements along K

  Lines<A, kBytes> left;
  Lines<B, kBytes> right;

  TILEWIRE_DEVICE explicit Operands(void* shared)
      : left{static_cast<char*>(shared)},
        right{static_cast<char*>(shared) + P::kBlockRows * Lines<A, kBytes>::kStrideBytes} {}

  /// Brings a piece of both to shared memory, once nobody reads the one before.
  template <typename TileA, typename TileB>
  TILEWIRE_DEVICE void load(const TileA& a, const TileB& b, int batch, int row, int column,
                            int depth) const {
    meet();
    stage<P::kRows, P::kDepth, !P::kLeftIsTransposed, P::kBlockRows, StageA>(
        a, Block{batch, row, depth}, left);
    stage<P::kColumns, P::kDepth, P::kRightIsTransposed, P::kBlockColumns, StageB>(
        b, Block{batch, column, depth}, right);
    meet();
  }
};

/// sums += the piece of both operands that lies in shared memory, by tensor cores.
template <typename F, typename O, typename A, typename B, typename Sum>
TILEWIRE_DEVICE void multiply_piece(const O& operands, A, B, Sum (&sums)[F::kRegisters / 4][4]) {
  const int lane = threadIdx.x % kWarpThreads;
  const int row_tile = F::first_row_tile(threadIdx.x / kWarpThreads);
  const int column_tile = F::first_column_tile(threadIdx.x / kWarpThreads);
  for (int byte = 0; byte < O::kBytes; byte += kMmaBytes) {
    uint32_t left[F::kRowTiles][4];
    TILEWIRE_UNROLL
    for (int i = 0; i < F::kRowTiles; ++i) {
      if (row_tile + i >= F::kAllRowTiles) continue;
      const int row = (row_tile + i) * kMmaRows + MmaLeftLoad::row(lane);
      load_matrices(left[i], operands.left.start + row * operands.left.kStrideBytes + byte +
                                 MmaLeftLoad::byte(lane));
    }
    TILEWIRE_UNROLL
    for (int j = 0; j < F::kColumnTiles; ++j) {
      if (column_tile + j >= F::kAllColumnTiles) continue;
      const int column = (column_tile + j) * kMmaColumns + MmaRightLoad::column(lane);
      uint32_t right[2];
      load_matrices(right, operands.right.start + column * operands.right.kStrideBytes + byte +
                               MmaRightLoad::byte(lane));
      TILEWIRE_UNROLL
      for (int i = 0; i < F::kRowTiles; ++i) {
        if (row_tile + i >= F::kAllRowTiles) continue;
        multiply_add(A{}, B{}, sums[i * F::kColumnTiles + j], left[i], right);
      }
    }
  }
}

/// result += a block of a product that is spread as `F`; (row, column) is where it begins.
template <typename P, typename F, typename ResultTile, typename Sum>
TILEWIRE_DEVICE void add_block(ResultTile& result, const Sum (&sums)[F::kRegisters / 4][4],
                               int batch, int row, int column, void* shared) {
  using L = typename ResultTile::Layout;
  constexpr int kPiece = piece_elements(F::kElements, sizeof(Sum));
  Sum* piece = static_cast<Sum*>(shared);
  for (int start = 0; start < F::kElements; start += kPiece) {
    const int thread = fresh_thread();
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < F::kRegisters; ++i) {
      const int index = F::element(thread, i) - start;
      if (index >= 0 && index < kPiece && F::holds(thread, i)) piece[index] = sums[i / 4][i % 4];
    }
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) {
      const int target = L::element(thread, i);
      const int inner = target % (P::kRows * P::kColumns);
      const int own_row = inner / P::kColumns - row;
      const int own_column = inner % P::kColumns - column;
      const int index = own_row * F::kColumns + own_column - start;
      if (target / (P::kRows * P::kColumns) == batch && L::holds(thread, i) && own_row >= 0 &&
          own_row < F::kRows && own_column >= 0 && own_column < F::kColumns && index >= 0 &&
          index < kPiece) {
        result.set(i, Add::of(result.get(i), piece[index]));
      }
    }
  }
}

/// What a sum starts from: a tile, or a scalar everywhere.
template <typename ResultTile, typename Acc>
TILEWIRE_DEVICE ResultTile initial(const Acc& acc) {
  if constexpr (Operand<Acc>::kIsTile) {
    return acc;
  } else {
    return full<ResultTile>(acc);
  }
}

/// acc + a · b by tensor cores, accumulated in the result's dtype. `acc`: a tile, or 0.
template <typename ResultTile, typename P, typename TileA, typename TileB, typename Acc>
TILEWIRE_DEVICE ResultTile matmul(const TileA& a, const TileB& b, const Acc& acc, void* shared) {
  using StageA = Staged<typename Operand<TileA>::Element>;
  using StageB = Staged<typename Operand<TileB>::Element>;
  using A = typename StageA::type;
  using B = typename StageB::type;
  using Sum = typename ResultTile::Element;
  using F = MmaFragment<P::kBlockRows, P::kBlockColumns, ResultTile::Layout::kThreads>;
  using O = Operands<P, A, B, StageA, StageB>;
  const Tile<typename Operand<TileA>::Element, typename Operand<TileA>::Layout> left = a;
  const Tile<typename Operand<TileB>::Element, typename Operand<TileB>::Layout> right = b;
  const O operands(shared);
  ResultTile result = initial<ResultTile>(acc);
  for (int batch = 0; batch < P::kBatch; ++batch) {
    for (int row = 0; row < P::kRows; row += P::kBlockRows) {
      for (int column = 0; column < P::kColumns; column += P::kBlockColumns) {
        Sum sums[F::kRegisters / 4][4] = {};
        for (int depth = 0; depth < P::kDepth; depth += O::kPiece) {
          operands.load(left, right, batch, row, column, depth);
          multiply_piece<F>(operands, A{}, B{}, sums);
        }
        add_block<P, F>(result, sums, batch, row, column, shared);
      }
    }
  }
  return result;
}

/// The same in plain arithmetic in the result's dtype, rounded like fma.
template <typename ResultTile, typename P, typename TileA, typename TileB, typename Acc>
TILEWIRE_DEVICE ResultTile matmul_plain(const TileA& a, const TileB& b, const Acc& acc,
                                        void* shared) {
  using L = typename ResultTile::Layout;
  using C = typename ResultTile::Element;
  using O = Operands<P, C, C, Plain<C>, Plain<C>>;
  const Tile<typename Operand<TileA>::Element, typename Operand<TileA>::Layout> left = a;
  const Tile<typename Operand<TileB>::Element, typename Operand<TileB>::Layout> right = b;
  const O operands(shared);
  ResultTile result = initial<ResultTile>(acc);
  for (int batch = 0; batch < P::kBatch; ++batch) {
    for (int row = 0; row < P::kRows; row += P::kBlockRows) {
      for (int column = 0; column < P::kColumns; column += P::kBlockColumns) {
        for (int depth = 0; depth < P::kDepth; depth += O::kPiece) {
          operands.load(left, right, batch, row, column, depth);
          const int thread = fresh_thread();
          TILEWIRE_UNROLL
          for (int i = 0; i < L::kRegisters; ++i) {
            const int target = L::element(thread, i);
            const int inner = target % (P::kRows * P::kColumns);
            const int own_row = inner / P::kColumns - row;
            const int own_column = inner % P::kColumns - column;
            if (target / (P::kRows * P::kColumns) != batch || !L::holds(thread, i) || own_row < 0 ||
                own_row >= P::kBlockRows || own_column < 0 || own_column >= P::kBlockColumns) {
              continue;
            }
            C sum = result.get(i);
            for (int k = 0; k < O::kPiece; ++k) {
              sum = fma(*operands.left.at(own_row, k), *operands.right.at(own_column, k), sum);
            }
            result.set(i, sum);
          }
        }
      }
    }
  }
  return result;
}

}  // namespace tilewire::device
