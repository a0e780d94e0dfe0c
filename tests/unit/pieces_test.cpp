// The emulated loads read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <atomic>
#include <cmath>

#include "tests/unit/mma_emulator.h"
// Behind what they need of CUDA.
#include "templates/tilewire/arithmetic.cuh"
#include "templates/tilewire/pieces.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

/// A bf16 or a float, exact below 256.
template <typename T>
T number(int value) {
  if constexpr (sizeof(T) == 2) {
    return {static_cast<uint16_t>(bits_of_float(static_cast<float>(value)) >> 16)};
  } else {
    return static_cast<T>(value);
  }
}

/// product · scale[column] + term[row, column] of float products, where `missing` elements at the
/// end of rows and columns don't exist, in pieces.
template <typename Scale, typename Term, typename F, int kVector>
void check(int missing) {
  constexpr int kStride = F::kColumns;
  using PerColumn = Tile<Scale, FragmentPerColumn<F::kColumns, F::kThreads>>;
  std::vector<Scale> scales;
  for (int i = 0; i < F::kColumns; ++i) scales.push_back(number<Scale>(i % 7 + 1));
  std::vector<Term> terms;
  for (int i = 0; i < F::kElements; ++i) terms.push_back(number<Term>(i % 251));
  std::vector<char> shared(static_cast<std::size_t>(fragment_rows_bytes(F::kThreads)));
  std::atomic<int> wrong = 0;
  Cta::run(F::kThreads, [&] {
    const int thread = static_cast<int>(threadIdx.x);
    Tile<float, F> product;
    for (int i = 0; i < F::kRegisters; ++i) {
      product.set(i, static_cast<float>(F::element(thread, i) % 13));
    }
    const auto scale = columns_in_pieces<PerColumn, kVector>(
        access(scales.data(), masked_dim<F::kColumns>(1, 0, F::kColumns - missing)));
    const auto term = rows_in_pieces<Tile<Term, F>, kVector>(
        access(terms.data(), masked_dim<F::kRows>(kStride, 0, F::kRows - missing),
               masked_dim<F::kColumns>(1, 0, F::kColumns - missing)),
        shared.data());
    const Tile<float, F> result = apply<Add>(
        apply<Multiply>(product, spread<Tile<float, F>>(apply_to<Add, float>(scale, 0.0f))),
        apply_to<Multiply, float>(term, 2.0f));
    for (int i = 0; F::has_rows(thread) && i < F::kRegisters; ++i) {
      const int row = F::row(thread, i);
      const int column = F::column(thread, i);
      const bool has_column = column < F::kColumns - missing;
      const bool has_both = has_column && row < F::kRows - missing;
      const int element = F::element(thread, i);
      const float expected = static_cast<float>(element % 13 * (has_column ? column % 7 + 1 : 0) +
                                                (has_both ? 2 * (element % 251) : 0));
      if (result.get(i) != expected) ++wrong;
    }
  });
  REQUIRE(wrong == 0);
}

}  // namespace

TEST_CASE("terms and scales come to products in pieces") {
  check<float, bf16, Fragment<64, 128, 128>, 8>(0);
  check<float, bf16, Fragment<64, 128, 128>, 8>(3);
  check<bf16, float, Fragment<64, 200, 128>, 4>(0);
  check<bf16, float, Fragment<64, 40, 128>, 2>(1);
  check<float, bf16, Fragment<32, 64, 128>, 1>(5);
  check<bf16, bf16, Fragment<128, 256, 256>, 8>(0);
  check<float, float, Fragment<64, 8, 128>, 4>(0);
}

TEST_CASE("a slice comes in pieces") {
  using F = Fragment<64, 256, 128>;
  using S = FragmentPerColumn<F::kColumns, F::kThreads>;
  STATIC_REQUIRE(kPieceSlots<Tile<float, F>> == 0);
  STATIC_REQUIRE(kPieceSlots<InPieces<float, S, ColumnPieces<float, S>>> == 8);
  STATIC_REQUIRE(
      kPieceSlots<decltype(spread<Tile<float, F>>(InPieces<float, S, ColumnPieces<float, S>>()))> ==
      16);
  STATIC_REQUIRE(ColumnPieces<float, S>::kPairs == 4);  // 8 registers of 64
}

}  // namespace tilewire::device
