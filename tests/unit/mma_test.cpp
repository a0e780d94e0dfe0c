// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
// Padding of a tile holds any value.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "tests/unit/mma_emulator.h"
// Behind what they need of CUDA.
#include <cmath>
#include <random>
#include <set>
#include <type_traits>

#include "templates/tilewire/matmul.cuh"
#include "templates/tilewire/memory.cuh"
#include "tests/catch.h"

namespace tilewire::device {

inline float number(tf32 x) { return float_of_bits(x.bits); }
inline float number(bf16 x) { return float_of_bits(static_cast<uint32_t>(x.bits) << 16); }
inline float number(e4m3 x) { return widen(x); }
inline float number(e5m2 x) { return widen(x); }

namespace {

template <typename T>
T element_of(int value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return {static_cast<uint16_t>(bits_of_float(static_cast<float>(value)) >> 16)};
  } else if constexpr (kKind<T> == Kind::kNarrowFloat) {
    return Narrow<T>::of(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
std::vector<T> small_numbers(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(element_of<T>(static_cast<int>(random() % 9)));
  return values;
}

template <typename T>
double value_of(T x) {
  if constexpr (kKind<T> == Kind::kNarrowFloat) {
    return number(x);
  } else {
    return static_cast<double>(x);
  }
}

/// acc + a · b against the plain triple loop. All numbers are small integers: sums are exact.
template <typename P, typename A, typename B, typename Sum, int kThreads, bool kIsPlain = false>
void check_matmul() {
  constexpr int kResults = P::kBatch * P::kRows * P::kColumns;
  using LeftTile = Tile<A, Blocked<P::kBatch * P::kRows * P::kDepth, 1, kThreads>>;
  using RightTile = Tile<B, Blocked<P::kBatch * P::kColumns * P::kDepth, 2, kThreads>>;
  using ResultTile = Tile<Sum, Blocked<kResults, 4, kThreads>>;
  std::vector<A> left = small_numbers<A>(LeftTile::Layout::kElements, 1);
  std::vector<B> right = small_numbers<B>(RightTile::Layout::kElements, 2);
  std::vector<Sum> start = small_numbers<Sum>(kResults, 3);
  std::vector<Sum> result(static_cast<std::size_t>(kResults), Sum(-1));
  std::vector<char> shared(static_cast<std::size_t>(
      product_bytes(P::kRows, P::kColumns, P::kDepth, kIsPlain ? sizeof(Sum) : sizeof(A), 4)));
  Cta::run(kThreads, [&] {
    const auto a = load<LeftTile, 1>(left.data());
    const auto b = load<RightTile, 1>(right.data());
    const auto acc = load<ResultTile, 1>(start.data());
    ResultTile sum;
    if constexpr (kIsPlain) {
      sum = matmul_plain<ResultTile, P>(a, b, acc, shared.data());
    } else {
      sum = matmul<ResultTile, P>(a, b, acc, shared.data());
    }
    store<1>(result.data(), sum);
  });
  const auto at = [](const auto& values, int index) {
    return value_of(values[static_cast<std::size_t>(index)]);
  };
  for (int i = 0; i < kResults; ++i) {
    const int batch = i / (P::kRows * P::kColumns);
    const int row = i / P::kColumns % P::kRows;
    const int column = i % P::kColumns;
    double expected = at(start, i);
    for (int k = 0; k < P::kDepth; ++k) {
      const int x = P::kLeftIsTransposed ? k * P::kRows + row : row * P::kDepth + k;
      const int y = P::kRightIsTransposed ? column * P::kDepth + k : k * P::kColumns + column;
      expected += at(left, batch * P::kRows * P::kDepth + x) *
                  at(right, batch * P::kColumns * P::kDepth + y);
    }
    REQUIRE(static_cast<double>(result[static_cast<std::size_t>(i)]) == expected);
  }
}

/// Every element of the result is in exactly one register of one thread.
template <int kRows, int kColumns, int kThreads>
void check_fragment() {
  using F = MmaFragment<kRows, kColumns, kThreads>;
  std::set<int> seen;
  int held = 0;
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int slot = 0; slot < F::kRegisters; ++slot) {
      if (!F::holds(thread, slot)) {
        REQUIRE(F::element(thread, slot) == F::kElements);
        continue;
      }
      ++held;
      seen.insert(F::element(thread, slot));
    }
  }
  CHECK(held == kRows * kColumns);
  CHECK(static_cast<int>(seen.size()) == kRows * kColumns);
  CHECK(*seen.begin() == 0);
  CHECK(*seen.rbegin() == kRows * kColumns - 1);
}

}  // namespace

TEST_CASE("words of a fragment are where the ISA's tables have their elements") {
  for (const int size : {1, 2, 4}) {
    const int per_word = 4 / size;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 16 / size; ++i) {
        REQUIRE(MmaLeft::row(lane, i / per_word) == left_row(lane, i, size));
        REQUIRE(MmaLeft::depth_word(lane, i / per_word) * per_word + i % per_word ==
                left_depth(lane, i, size));
      }
      for (int i = 0; i < 8 / size; ++i) {
        REQUIRE(MmaRight::column(lane, i / per_word) == lane / 4);
        REQUIRE(MmaRight::depth_word(lane, i / per_word) * per_word + i % per_word ==
                right_depth(lane, i, size));
      }
    }
  }
}

TEST_CASE("ldmatrix gives each lane the words that mma wants") {
  for (int lane = 0; lane < 32; ++lane) {
    for (int word = 0; word < 4; ++word) {
      const int source = 8 * word + lane / 4;
      CHECK(MmaLeftLoad::row(source) == MmaLeft::row(lane, word));
      CHECK(MmaLeftLoad::byte(source) / 4 + lane % 4 == MmaLeft::depth_word(lane, word));
    }
    for (int word = 0; word < 2; ++word) {
      const int source = 8 * word + lane / 4;
      CHECK(MmaRightLoad::column(source) == MmaRight::column(lane, word));
      CHECK(MmaRightLoad::byte(source) / 4 + lane % 4 == MmaRight::depth_word(lane, word));
    }
  }
}

TEST_CASE("a product's fragment covers it once") {
  check_fragment<16, 8, 32>();
  check_fragment<64, 64, 128>();
  check_fragment<128, 128, 256>();
  check_fragment<16, 128, 512>();
  check_fragment<33, 7, 96>();
  check_fragment<1, 1, 1024>();
}

TEST_CASE("warps share a product evenly") {
  CHECK(warps_along_rows(8, 16, 4) == 2);
  CHECK(warps_along_rows(1, 16, 4) == 1);
  CHECK(warps_along_rows(8, 1, 8) == 8);
  CHECK(warps_along_rows(1, 1, 8) == 1);
}

TEST_CASE("matmul on tensor cores, whole and odd shapes") {
  check_matmul<Product<1, 16, 8, 16>, bf16, bf16, float, 32>();
  check_matmul<Product<1, 32, 24, 48>, bf16, bf16, float, 64>();
  check_matmul<Product<1, 5, 7, 9>, bf16, bf16, float, 64>();
  check_matmul<Product<1, 33, 9, 17, true, false>, bf16, bf16, float, 64>();
  check_matmul<Product<1, 33, 9, 17, false, true>, bf16, bf16, float, 64>();
  check_matmul<Product<2, 17, 5, 70, true, true>, bf16, bf16, float, 32>();
}

TEST_CASE("matmul in blocks and pieces") {
  check_matmul<Product<1, 140, 9, 5>, bf16, bf16, float, 64>();
  check_matmul<Product<1, 3, 140, 90>, int8_t, int8_t, int, 64>();
}

TEST_CASE("matmul of bytes") {
  check_matmul<Product<1, 16, 8, 32>, e4m3, e4m3, float, 32>();
  check_matmul<Product<1, 20, 12, 40>, e4m3, e5m2, float, 64>();
  check_matmul<Product<1, 20, 12, 40, false, true>, uint8_t, int8_t, int, 64>();
}

TEST_CASE("matmul of f32 goes through tf32") {
  check_matmul<Product<1, 16, 8, 8>, float, float, float, 32>();
  check_matmul<Product<1, 19, 13, 21, true, true>, float, float, float, 64>();
  CHECK(number(to_tf32(1.0F + 0x1p-11F)) == 1.0F + 0x1p-10F);  // a tie goes away from 0
  CHECK(number(to_tf32(-1.0F - 0x1p-12F)) == -1.0F);
}

TEST_CASE("matmul in plain arithmetic") {
  check_matmul<Product<1, 16, 8, 16>, float, float, float, 32, true>();
  check_matmul<Product<2, 5, 7, 70, true, true>, double, double, double, 64, true>();
}

}  // namespace tilewire::device
