// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")

#include "tests/unit/mma_emulator.h"
// Behind what they need of CUDA.
#include <array>
#include <cstring>
#include <numeric>

#include "templates/tilewire/fragment_columns.cuh"
#include "templates/tilewire/held_words.cuh"
#include "templates/tilewire/memory.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

/// Columns from `kFirst` on of a product, then those with the whole product behind them.
template <typename T, int kRows, int kColumns, int kFirst, int kTaken, int kThreads>
void check_columns() {
  using Whole = Tile<T, Fragment<kRows, kColumns, kThreads>>;
  using Part = Tile<T, Fragment<kRows, kTaken, kThreads>>;
  using Joined = Tile<T, Fragment<kRows, kTaken + kColumns, kThreads>>;
  std::vector<T> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), T(1));
  std::vector<T> part(kRows * kTaken);
  std::vector<T> joined(kRows * (kTaken + kColumns));
  Cta::run(kThreads, [&] {
    const Whole whole = load<Whole, 1>(values.data());
    const Part taken = columns_from<Part, kFirst>(whole);
    store<1>(part.data(), taken);
    store<1>(joined.data(), append_columns<Joined>(taken, whole));
  });
  const auto at = [&](int row, int column) {
    return values[static_cast<std::size_t>(row * kColumns + column)];
  };
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kTaken + kColumns; ++column) {
      const T expected = column < kTaken ? at(row, kFirst + column) : at(row, column - kTaken);
      REQUIRE(joined[static_cast<std::size_t>(row * (kTaken + kColumns) + column)] == expected);
      if (column >= kTaken) continue;
      REQUIRE(part[static_cast<std::size_t>(row * kTaken + column)] == expected);
    }
  }
}

/// Each half of a word is the element that the PTX ISA says, of the warp's 16 rows in each block.
template <int kRows, int kColumns, int kThreads>
void check_words() {
  using F = Fragment<kRows, kColumns, kThreads>;
  std::vector<bf16> values(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i].bits = static_cast<uint16_t>(i);
  std::vector<std::array<std::array<uint32_t, 4>, kHeldWords<F>>> all(kThreads);
  Cta::run(kThreads, [&] {
    uint32_t words[kHeldWords<F>][4];
    take_words(words, load<Tile<bf16, F>, 1>(values.data()), 0);
    std::memcpy(&all[threadIdx.x], words, sizeof(words));
  });
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int i = 0; i < kHeldWords<F>; ++i) {
      for (int half = 0; half < 8; ++half) {
        const int row = F::warp_row(thread, i % F::kBlocks) + left_row(thread % 32, half, 2);
        const int column = i / F::kBlocks * 16 + left_depth(thread % 32, half, 2);
        const uint32_t word = all[static_cast<std::size_t>(thread)][static_cast<std::size_t>(i)]
                                 [static_cast<std::size_t>(half / 2)];
        REQUIRE((word >> half % 2 * 16 & 0xffff) == static_cast<uint32_t>(row * kColumns + column));
      }
    }
  }
}

}  // namespace

TEST_CASE("a tile is spread as the tensor cores take it from registers") {
  check_words<64, 64, 128>();
  check_words<128, 48, 128>();  // two blocks of each warpgroup
  check_words<192, 64, 384>();
}

TEST_CASE("blocks of a product's columns are parts of every thread's registers") {
  check_columns<int, 64, 128, 64, 64, 128>();
  check_columns<int, 128, 40, 8, 24, 128>();  // two blocks of each warpgroup
  check_columns<int16_t, 128, 64, 0, 32, 256>();
}

}  // namespace tilewire::device
