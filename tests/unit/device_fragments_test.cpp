// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")

#include "tests/unit/cta_emulator.h"
// Behind what they need of CUDA.
#include <numeric>

#include "templates/tilewire/fragment_columns.cuh"
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

}  // namespace

TEST_CASE("blocks of a product's columns are parts of every thread's registers") {
  check_columns<int, 64, 128, 64, 64, 128>();
  check_columns<int, 128, 40, 8, 24, 128>();  // two blocks of each warpgroup
  check_columns<int16_t, 128, 64, 0, 32, 256>();
}

}  // namespace tilewire::device
