// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
// Padding of a tile holds any value.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "tests/unit/cta_emulator.h"
// Behind what they need of CUDA.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "templates/tilewire/arithmetic.cuh"
#include "templates/tilewire/comparison.cuh"
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

/// Adds along an axis, the plain way.
template <typename Shape>
std::vector<int> sums(const std::vector<int>& values, int axis) {
  int inner = 1;
  for (int i = axis + 1; i < Shape::kRank; ++i) inner *= Shape::size(i);
  const int size = Shape::size(axis);
  std::vector<int> result(values.size() / static_cast<std::size_t>(size), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<int>(i);
    const int outer = index / inner / size;
    result[static_cast<std::size_t>(outer * inner + index % inner)] += values[i];
  }
  return result;
}

template <typename Shape, int kAxis, int kVector, int kResultVector, int kThreads>
void check_reduce_axis() {
  using TileType = Tile<int, Blocked<Shape::kElements, kVector, kThreads>>;
  constexpr int kResults = Shape::kElements / Shape::size(kAxis);
  using ResultTile = Tile<int, Blocked<kResults, kResultVector, kThreads>>;
  std::vector<int> values = numbers(Shape::kElements);
  std::vector<int> result(kResults, -1);
  std::vector<char> shared(kMaxPieceBytes);
  Cta::run(kThreads, [&] {
    const TileType tile = load<TileType, 1>(values.data());
    const ResultTile sum = reduce_axis<Sum, kAxis, Shape, ResultTile>(tile, shared.data());
    store<1>(result.data(), sum);
  });
  CHECK(result == sums<Shape>(values, kAxis));
}

template <typename Result, typename Source, int kVector, int kSourceVector, int kThreads>
void check_broadcast() {
  using SourceTile = Tile<int, Blocked<Source::kElements, kSourceVector, kThreads>>;
  using ResultTile = Tile<int, Blocked<Result::kElements, kVector, kThreads>>;
  std::vector<int> values = numbers(Source::kElements);
  std::vector<int> result(Result::kElements, -1);
  std::vector<char> shared(kMaxPieceBytes);
  Cta::run(kThreads, [&] {
    const SourceTile tile = load<SourceTile, 1>(values.data());
    const ResultTile repeated = broadcast<ResultTile, Result, Source>(tile, shared.data());
    store<1>(result.data(), repeated);
  });
  for (int i = 0; i < Result::kElements; ++i) {
    const auto source = static_cast<std::size_t>(broadcast_source<Result, Source>(i));
    REQUIRE(result[static_cast<std::size_t>(i)] == values[source]);
  }
}

template <int kElements, int kVector, int kThreads>
void check_reduce() {
  using TileType = Tile<int, Blocked<kElements, kVector, kThreads>>;
  std::vector<int> values = numbers(kElements);
  std::vector<int> sum(kThreads);
  std::vector<int> largest(kThreads);
  std::vector<int> smallest(kThreads);
  std::vector<char> shared(2 * 1024);
  Cta::run(kThreads, [&] {
    const TileType tile = load<TileType, kVector>(values.data());
    sum[threadIdx.x] = reduce<Sum, int>(tile, shared.data());
    largest[threadIdx.x] = reduce<Max, int>(tile, shared.data() + 1024);
    smallest[threadIdx.x] = reduce<Min, int>(sub(0, tile), shared.data());
  });
  const int expected = std::accumulate(values.begin(), values.end(), 0);
  const int top = *std::ranges::max_element(values);
  for (int i = 0; i < kThreads; ++i) {
    REQUIRE(sum[static_cast<std::size_t>(i)] == expected);
    REQUIRE(largest[static_cast<std::size_t>(i)] == top);
    REQUIRE(smallest[static_cast<std::size_t>(i)] == -top);
  }
}

}  // namespace

TEST_CASE("a reduction over all elements, padding left out, is every thread's") {
  check_reduce<512, 4, 64>();
  check_reduce<1000, 4, 96>();
  check_reduce<33, 1, 64>();
  check_reduce<5, 1, 32>();
  check_reduce<128, 2, 32>();
}

TEST_CASE("reductions along an axis, whole and in pieces") {
  check_reduce_axis<Extents<4, 96>, 1, 4, 1, 64>();
  check_reduce_axis<Extents<4, 96>, 0, 4, 4, 64>();
  check_reduce_axis<Extents<3, 5, 7>, 1, 1, 1, 32>();
  check_reduce_axis<Extents<100, 3>, 1, 1, 4, 64>();
  check_reduce_axis<Extents<2, 8192>, 1, 4, 1, 64>();   // 64 KiB: two pieces
  check_reduce_axis<Extents<3, 5000>, 0, 4, 4, 64>();   // pieces cut through rows
  check_reduce_axis<Extents<10000, 2>, 1, 2, 4, 64>();  // more results than one piece holds
}

TEST_CASE("broadcasts and changes of layout") {
  check_broadcast<Extents<16, 96>, Extents<16, 1>, 4, 1, 64>();
  check_broadcast<Extents<16, 96>, Extents<1, 96>, 4, 4, 64>();
  check_broadcast<Extents<3, 5, 7>, Extents<1, 5, 1>, 1, 1, 32>();
  check_broadcast<Extents<2, 10000>, Extents<1, 10000>, 4, 4, 64>();  // in pieces
  check_broadcast<Extents<1000>, Extents<1000>, 1, 8, 64>();
}

TEST_CASE("an element for every thread; outside it is 0") {
  using TileType = Tile<int, Blocked<12, 4, 32>>;
  std::vector<int> values = numbers(12);
  std::vector<char> room(16);
  Cta::run(32, [&] {
    const TileType tile = load<TileType, 4>(values.data());
    const int inside = extract<Extents<3, 4>>(tile, room.data(), int64_t{2}, int64_t{1});
    __syncthreads();
    const int outside = extract<Extents<3, 4>>(tile, room.data(), int64_t{1}, int64_t{4});
    __syncthreads();
    if (inside != values[9] || outside != 0) values[0] = 10000;
  });
  CHECK(values[0] != 10000);
}

TEST_CASE("masked loads and stores touch what is inside, and nothing else") {
  using TileType = Tile<int, Blocked<64, 4, 32>>;
  for (int begin = -70; begin <= 70; begin += 3) {
    for (const int bound : {0, 1, 5, 40, 64, 65}) {
      std::vector<int> memory = numbers(256);
      const std::vector<int> before = memory;
      std::vector<int> loaded(64);
      int* origin = memory.data() + 96;  // element 0 of the view; the tile starts at `begin`
      Cta::run(32, [&] {
        const auto place = access(origin + begin, masked_dim<64>(1, begin, bound));
        const TileType tile = load<TileType, 4>(place, 7);
        store<4>(loaded.data(), tile);
        __syncthreads();
        store<4>(place, add(tile, 1000));
      });
      for (int i = 0; i < 64; ++i) {
        const bool inside = begin + i >= 0 && begin + i < bound;
        const auto at = static_cast<std::size_t>(96 + begin + i);
        REQUIRE(loaded[static_cast<std::size_t>(i)] == (inside ? before[at] : 7));
      }
      for (int i = 0; i < 256; ++i) {
        const int index = i - 96;
        const bool written = index >= 0 && index < bound && index >= begin && index < begin + 64;
        const auto at = static_cast<std::size_t>(i);
        REQUIRE(memory[at] == before[at] + (written ? 1000 : 0));
      }
    }
  }
}

TEST_CASE("strided rows, masked rows, a mask tile") {
  using TileType = Tile<int, Blocked<4 * 8, 4, 32>>;
  std::vector<int> memory = numbers(400);
  std::vector<int> loaded(32);
  Cta::run(32, [&] {
    const auto place = access(memory.data(), masked_dim<4>(20, 1, 3), dim<8>(1));
    const TileType positive = load<TileType, 4>(place, -1);
    store<4>(loaded.data(), load<TileType, 4>(place, -1, gt(positive, 0)));
  });
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 8; ++column) {
      const int value = memory[static_cast<std::size_t>(row * 20 + column)];
      const bool inside = row + 1 < 3 && value > 0;
      REQUIRE(loaded[static_cast<std::size_t>(row * 8 + column)] == (inside ? value : -1));
    }
  }
}

TEST_CASE("division and remainder of integers round down, as in Python") {
  for (int a = -7; a <= 7; ++a) {
    CHECK(floordiv(a, 0) == 0);
    CHECK(mod(a, 0) == 0);
    for (int b = -3; b <= 3; ++b) {
      if (b == 0) continue;
      const int quotient = static_cast<int>(std::floor(static_cast<double>(a) / b));
      CHECK(floordiv(a, b) == quotient);
      CHECK(mod(a, b) == a - quotient * b);
      CHECK(floordiv_index(a, b) == quotient);
      CHECK(mod_index(a, b) == a - quotient * b);
    }
  }
  constexpr int64_t kLarge = int64_t{5} << 40;
  for (const int64_t a : {kLarge, -kLarge, kLarge + 3, int64_t{7}, int64_t{-7}}) {
    CHECK(floordiv_index(a, 0) == 0);
    CHECK(mod_index(a, 0) == 0);
    for (const int64_t b : {kLarge, -kLarge, kLarge - 1, int64_t{UINT32_MAX}, int64_t{5}}) {
      CHECK(floordiv_index(a, b) == floordiv(a, b));
      CHECK(mod_index(a, b) == mod(a, b));
    }
  }
  CHECK(floordiv(INT32_MIN, -1) == INT32_MIN);
  CHECK(mod(INT32_MIN, -1) == 0);
  CHECK(mod(5.5, -2.0) == -0.5);
  CHECK(floordiv(5.5, -2.0) == -3.0);
  CHECK(mod(uint8_t{250}, uint8_t{255}) == 250);
}

TEST_CASE("NaN wins in minimum and maximum") {
  const float nan = std::nanf("");
  CHECK(std::isnan(maximum(1.0f, nan)));
  CHECK(std::isnan(maximum(nan, 1.0f)));
  CHECK(std::isnan(minimum(1.0f, nan)));
  CHECK(maximum(2.0f, 1.0f) == 2.0f);
  CHECK(minimum(2.0f, 1.0f) == 1.0f);
}

}  // namespace tilewire::device
