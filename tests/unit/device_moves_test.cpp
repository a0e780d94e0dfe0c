// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
// Padding of a tile holds any value.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "tests/unit/cta_emulator.h"
// Behind what they need of CUDA.
#include <algorithm>
#include <random>

#include "templates/tilewire/histogram.cuh"
#include "templates/tilewire/memory.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

std::vector<int> numbers(int count, int from, int to) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::mt19937 random(7);
  for (int& value : values) value = from + static_cast<int>(random() % unsigned(to - from + 1));
  return values;
}

template <int kElements, int kBins, int kVector, int kResultVector, int kThreads>
void check_histogram() {
  using TileType = Tile<int, Blocked<kElements, kVector, kThreads>>;
  using ResultTile = Tile<int, Blocked<kBins, kResultVector, kThreads>>;
  std::vector<int> values = numbers(kElements, -3, kBins + 3);
  std::vector<int> result(kBins, -1);
  std::vector<char> shared(kMaxPieceBytes);
  Cta::run(kThreads, [&] {
    const TileType tile = load<TileType, 1>(values.data());
    const ResultTile counts = histogram<ResultTile>(tile, shared.data());
    store<1>(result.data(), counts);
  });
  for (int bin = 0; bin < kBins; ++bin) {
    REQUIRE(result[static_cast<std::size_t>(bin)] == std::ranges::count(values, bin));
  }
}

}  // namespace

TEST_CASE("a histogram counts each element once, and leaves out what has no place") {
  check_histogram<1000, 16, 4, 1, 64>();
  check_histogram<77, 300, 1, 4, 32>();
  check_histogram<500, 10000, 4, 4, 64>();  // more bins than one piece holds
}

}  // namespace tilewire::device
