// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
// Padding of a tile holds any value.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "tests/unit/cta_emulator.h"
// Behind what they need of CUDA.
#include <algorithm>
#include <random>

#include "templates/tilewire/arithmetic.cuh"
#include "templates/tilewire/fragment_layout.cuh"
#include "templates/tilewire/memory.cuh"
#include "templates/tilewire/reduce.cuh"
#include "templates/tilewire/shape.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

std::vector<int> numbers(int count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::mt19937 random(7);
  for (int& value : values) value = static_cast<int>(random() % 1000) - 500;
  return values;
}

struct Expected {
  std::vector<int> row_sums;
  std::vector<int> row_peaks;
  std::vector<int> column_sums;
  std::vector<int> column_peaks;
};

Expected expected(const std::vector<int>& values, int rows, int columns) {
  Expected result;
  result.row_sums.assign(static_cast<std::size_t>(rows), 0);
  result.row_peaks.assign(static_cast<std::size_t>(rows), INT32_MIN);
  result.column_sums.assign(static_cast<std::size_t>(columns), 0);
  result.column_peaks.assign(static_cast<std::size_t>(columns), INT32_MIN);
  for (int i = 0; i < rows * columns; ++i) {
    const int value = values[static_cast<std::size_t>(i)];
    const auto row = static_cast<std::size_t>(i / columns);
    const auto column = static_cast<std::size_t>(i % columns);
    result.row_sums[row] += value;
    result.row_peaks[row] = std::max(result.row_peaks[row], value);
    result.column_sums[column] += value;
    result.column_peaks[column] = std::max(result.column_peaks[column], value);
  }
  return result;
}

/// Reductions of both kinds, stored from the slices that they leave; a slice repeated; sums over a
/// slice; a slice that passes through shared memory.
template <typename L, typename RowLayout, typename ColumnLayout>
void check_slices_of() {
  constexpr int kRows = L::kRows;
  constexpr int kColumns = L::kColumns;
  constexpr int kThreads = L::kThreads;
  using TileType = Tile<int, L>;
  using RowTile = Tile<int, RowLayout>;
  using ColumnTile = Tile<int, ColumnLayout>;
  using FlatTile = Tile<int, Blocked<kRows, 1, kThreads>>;
  std::vector<int> values = numbers(kRows * kColumns);
  const Expected right = expected(values, kRows, kColumns);
  std::vector<int> row_sums(kRows, -1);
  std::vector<int> row_peaks(kRows, -1);
  std::vector<int> flat_sums(kRows, -1);
  std::vector<int> column_sums(kColumns, -1);
  std::vector<int> column_peaks(kColumns, -1);
  std::vector<int> repeated(values.size(), -1);
  std::vector<int> totals(kThreads, -1);
  std::vector<char> shared(kMaxPieceBytes);
  Cta::run(kThreads, [&] {
    const TileType tile = load<TileType, 1>(values.data());
    const RowTile sums = reduce_rows<Sum, RowTile>(tile, shared.data());
    store<1>(row_sums.data(), sums);
    __syncthreads();
    store<1>(row_peaks.data(), reduce_rows<Max, RowTile>(add(tile, 0), shared.data()));
    __syncthreads();
    const ColumnTile down = reduce_columns<Sum, ColumnTile>(tile, shared.data());
    store<1>(column_sums.data(), down);
    __syncthreads();
    store<1>(column_peaks.data(), reduce_columns<Max, ColumnTile>(tile, shared.data()));
    __syncthreads();
    store<1>(flat_sums.data(), relayout<FlatTile>(sums, shared.data()));
    __syncthreads();
    totals[threadIdx.x] = reduce<Sum, int>(down, shared.data());
    // Loads of a slice give every holder its element.
    const ColumnTile loaded = load<ColumnTile, 1>(column_sums.data());
    store<1>(repeated.data(), add(spread<TileType>(sums), spread<TileType>(loaded)));
  });
  CHECK(row_sums == right.row_sums);
  CHECK(flat_sums == right.row_sums);
  CHECK(row_peaks == right.row_peaks);
  CHECK(column_sums == right.column_sums);
  CHECK(column_peaks == right.column_peaks);
  int total = 0;
  for (const int sum : right.row_sums) total += sum;
  for (const int each : totals) REQUIRE(each == total);
  for (int i = 0; i < kRows * kColumns; ++i) {
    const auto row = static_cast<std::size_t>(i / kColumns);
    const auto column = static_cast<std::size_t>(i % kColumns);
    REQUIRE(repeated[static_cast<std::size_t>(i)] ==
            right.row_sums[row] + right.column_sums[column]);
  }
}

template <int kRows, int kColumns, int kVector, int kLanes, int kThreads>
void check_slices() {
  check_slices_of<Rows<kRows, kColumns, kVector, kLanes, kThreads>, PerRow<kRows, kLanes, kThreads>,
                  PerColumn<kColumns, kVector, kLanes, kThreads>>();
}

template <int kRows, int kColumns, int kThreads>
void check_slices_of_products() {
  check_slices_of<Fragment<kRows, kColumns, kThreads>, FragmentPerRow<kRows, kThreads>,
                  FragmentPerColumn<kColumns, kThreads>>();
}

}  // namespace

TEST_CASE("rows and columns are reduced to slices, which repeat for free") {
  check_slices<16, 128, 8, 8, 64>();     // rows within a warp
  check_slices<5, 12, 4, 1, 32>();       // a thread has whole rows
  check_slices<33, 40, 4, 32, 64>();     // padding in rows and columns
  check_slices<7, 33, 1, 4, 64>();       // vectors of 1
  check_slices<3, 512, 4, 64, 128>();    // two warps share a row
  check_slices<1, 1000, 4, 128, 128>();  // all threads share one row
  check_slices<4, 8192, 4, 32, 64>();    // columns pass through shared memory in pieces
}

TEST_CASE("rows and columns of products are reduced to slices, which repeat for free") {
  check_slices_of_products<64, 24, 128>();
  check_slices_of_products<16, 24, 128>();    // warps without rows
  check_slices_of_products<128, 64, 128>();   // two blocks of each warpgroup
  check_slices_of_products<192, 128, 384>();  // three warpgroups
}

}  // namespace tilewire::device
