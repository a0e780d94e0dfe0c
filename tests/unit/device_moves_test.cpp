// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
// Padding of a tile holds any value.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "tests/unit/cta_emulator.h"
// Behind what they need of CUDA.
#include <algorithm>
#include <cmath>
#include <random>

#include "templates/tilewire/arg_reduce.cuh"
#include "templates/tilewire/histogram.cuh"
#include "templates/tilewire/memory.cuh"
#include "templates/tilewire/move.cuh"
#include "templates/tilewire/scan.cuh"
#include "templates/tilewire/sort.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

template <typename T = int>
std::vector<T> numbers(int count, int from, int to) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::mt19937 random(7);
  for (T& value : values) {
    value = static_cast<T>(from + static_cast<int>(random() % unsigned(to - from + 1)));
  }
  return values;
}

/// Runs `body(tile, shared)` on a CTA, the tile read from `values`, and returns what it gives.
template <typename TileType, typename ResultTile, typename Body>
std::vector<typename ResultTile::Element> run(std::vector<typename TileType::Element>& values,
                                              const Body& body) {
  std::vector<typename ResultTile::Element> result(ResultTile::Layout::kElements);
  std::vector<char> shared(kMaxPieceBytes + 1024);
  Cta::run(TileType::Layout::kThreads, [&] {
    const TileType tile = load<TileType, 1>(values.data());
    const ResultTile found = body(tile, shared.data());
    store<1>(result.data(), found);
  });
  return result;
}

template <typename Shape>
struct Line {
  explicit Line(int axis) : inner(inner_size<Shape>(axis)), size(Shape::size(axis)) {}
  int inner;
  int size;
  /// The number of element j of a line.
  std::size_t at(int line, int j) const {
    return static_cast<std::size_t>(line / inner * size * inner + line % inner + j * inner);
  }
};

template <typename L, int kBins, int kResultVector>
void check_histogram() {
  using ResultTile = Tile<int, Blocked<kBins, kResultVector, L::kThreads>>;
  std::vector<int> values = numbers(L::kElements, -3, kBins + 3);
  const auto result = run<Tile<int, L>, ResultTile>(
      values, [](const auto& tile, void* shared) { return histogram<ResultTile>(tile, shared); });
  for (int bin = 0; bin < kBins; ++bin) {
    REQUIRE(result[static_cast<std::size_t>(bin)] == std::ranges::count(values, bin));
  }
}

/// `kIsInRegisters`: along rows, into their slice.
template <typename Order, typename Shape, int kAxis, typename L, typename K,
          bool kIsInRegisters = false>
void check_arg_reduce(bool has_nan) {
  std::vector<float> values = numbers<float>(L::kElements, -9, 9);  // many equal ones
  if (has_nan) values[values.size() / 2] = values[values.size() - 1] = std::nanf("");
  std::vector<float> best(K::kElements, -100);
  std::vector<int> where(K::kElements, -100);
  std::vector<char> shared(kMaxPieceBytes);
  Cta::run(L::kThreads, [&] {
    const auto tile = load<Tile<float, L>, 1>(values.data());
    Tile<float, K> value;
    Tile<int, K> index;
    if constexpr (kIsInRegisters) {
      arg_reduce_rows<Order>(tile, value, index);
    } else {
      arg_reduce_axis<Order, kAxis, Shape>(tile, shared.data(), value, index);
    }
    store<1>(best.data(), value);
    store<1>(where.data(), index);
  });
  const Line<Shape> lines(kAxis);
  for (int line = 0; line < K::kElements; ++line) {
    int expected = 0;
    for (int j = 1; j < lines.size; ++j) {
      const float x = values[lines.at(line, j)];
      const float so_far = values[lines.at(line, expected)];
      if (std::isnan(so_far)) break;
      if (std::isnan(x) || Order::of(x, so_far)) expected = j;
    }
    const auto number = static_cast<std::size_t>(line);
    REQUIRE(where[number] == expected);
    const float x = values[lines.at(line, expected)];
    REQUIRE((best[number] == x || (std::isnan(best[number]) && std::isnan(x))));
  }
}

template <typename L>
void check_arg_reduce_all() {
  std::vector<int> values = numbers(L::kElements, -50, 50);
  std::vector<int> found(L::kThreads);
  std::vector<char> shared(2 * 1024);
  Cta::run(L::kThreads, [&] {
    const auto tile = load<Tile<int, L>, 1>(values.data());
    int value = 0;
    arg_reduce<Larger>(tile, shared.data(), value, found[threadIdx.x]);
    if (value != values[static_cast<std::size_t>(found[threadIdx.x])]) found[threadIdx.x] = -1;
  });
  const auto expected = std::ranges::max_element(values) - values.begin();
  for (const int index : found) REQUIRE(index == expected);
}

template <typename Shape, int kAxis, bool kIsReverse, typename L, typename K>
void check_scan() {
  std::vector<int> values = numbers(L::kElements, -9, 9);
  const auto sums = run<Tile<int, L>, Tile<int64_t, K>>(values, [](const auto& tile, void* shared) {
    return scan<RunningSum, kAxis, kIsReverse, Shape, Tile<int64_t, K>>(tile, shared);
  });
  const Line<Shape> lines(kAxis);
  for (int line = 0; line < L::kElements / lines.size; ++line) {
    int64_t sum = 0;
    for (int j = 0; j < lines.size; ++j) {
      const std::size_t at = lines.at(line, kIsReverse ? lines.size - 1 - j : j);
      sum += values[at];
      REQUIRE(sums[at] == sum);
    }
  }
}

template <typename Shape, int kAxis, bool kIsDescending, typename L, typename K>
void check_sort() {
  std::vector<float> values = numbers<float>(L::kElements, -90, 90);
  values[values.size() / 2] = values[0] = std::nanf("");
  const auto sorted = run<Tile<float, L>, Tile<float, K>>(values, [](const auto& tile, void* room) {
    return sort<kAxis, kIsDescending, Shape, Tile<float, K>>(tile, room);
  });
  const Line<Shape> lines(kAxis);
  for (int line = 0; line < L::kElements / lines.size; ++line) {
    std::vector<float> expected;
    for (int j = 0; j < lines.size; ++j) expected.push_back(values[lines.at(line, j)]);
    std::ranges::sort(expected, goes_before<kIsDescending, float>);
    for (int j = 0; j < lines.size; ++j) {
      const float x = sorted[lines.at(line, j)];
      const float y = expected[static_cast<std::size_t>(j)];
      REQUIRE((x == y || (std::isnan(x) && std::isnan(y))));
    }
  }
}

template <typename Shape, int kAxis, bool kIsDescending, typename T, typename L, typename K>
void check_argsort() {
  std::vector<T> values = numbers<T>(L::kElements, -9, 9);  // many equal ones
  std::vector<int> where(L::kElements, -1);
  std::vector<char> shared(kMaxPieceBytes);
  Cta::run(L::kThreads, [&] {
    const auto tile = load<Tile<T, L>, 1>(values.data());
    Tile<T, K> sorted;
    Tile<int, L> index;
    argsort<kAxis, kIsDescending, Shape>(tile, shared.data(), sorted, index);
    __syncthreads();
    store<1>(where.data(), index);
    store<1>(values.data(), sorted);
  });
  const std::vector<T> before = numbers<T>(L::kElements, -9, 9);
  const Line<Shape> lines(kAxis);
  for (int line = 0; line < L::kElements / lines.size; ++line) {
    std::vector<int> expected(static_cast<std::size_t>(lines.size));
    for (int j = 0; j < lines.size; ++j) expected[static_cast<std::size_t>(j)] = j;
    std::ranges::stable_sort(expected, [&](int a, int b) {
      return goes_before<kIsDescending>(before[lines.at(line, a)], before[lines.at(line, b)]);
    });
    for (int j = 0; j < lines.size; ++j) {
      const int place = expected[static_cast<std::size_t>(j)];
      REQUIRE(where[lines.at(line, j)] == place);
      REQUIRE(values[lines.at(line, j)] == before[lines.at(line, place)]);
    }
  }
}

/// Transposes rows and columns; padding after every `kRow` elements.
template <int kRows, int kColumns, typename L, typename K, int kRow = 0>
void check_transpose() {
  std::vector<int> values = numbers(L::kElements, -5000, 5000);
  const auto result = run<Tile<int, L>, Tile<int, K>>(values, [](const auto& tile, void* shared) {
    return walk<Tile<int, K>, Walk<Extents<kColumns, kRows>, 0, 1, kColumns>, kRow>(tile, shared);
  });
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(result[i % kColumns * kRows + i / kColumns] == values[i]);
  }
}

template <int kOuter, int kOfA, int kOfB, int kInner, typename LA, typename LB, typename K>
void check_cat() {
  std::vector<int> a = numbers(LA::kElements, 0, 9999);
  std::vector<int> b = numbers(LB::kElements, -9999, 0);
  const auto joined = run<Tile<int, LA>, Tile<int, K>>(a, [&](const auto& tile, void* shared) {
    return cat<Tile<int, K>, 1, Extents<kOuter, kOfA, kInner>, Extents<kOuter, kOfB, kInner>>(
        tile, load<Tile<int, LB>, 1>(b.data()), shared);
  });
  for (int i = 0; i < K::kElements; ++i) {
    const int outer = i / ((kOfA + kOfB) * kInner);
    const int j = i / kInner % (kOfA + kOfB);
    const int expected =
        j < kOfA ? a[static_cast<std::size_t>((outer * kOfA + j) * kInner + i % kInner)]
                 : b[static_cast<std::size_t>((outer * kOfB + j - kOfA) * kInner + i % kInner)];
    REQUIRE(joined[static_cast<std::size_t>(i)] == expected);
  }
}

template <int kRows, int kColumns, int kCount, typename L, typename LI, typename K>
void check_gather() {
  std::vector<int> values = numbers(L::kElements, 1, 9999);
  std::vector<int> indices = numbers(LI::kElements, -2, kRows + 2);
  const auto found = run<Tile<int, L>, Tile<int, K>>(values, [&](const auto& tile, void* shared) {
    return gather_within<Tile<int, K>, 0, kCount, Extents<kRows, kColumns>>(
        tile, load<Tile<int, LI>, 1>(indices.data()), shared);
  });
  for (int i = 0; i < K::kElements; ++i) {
    const int at = indices[static_cast<std::size_t>(i)];
    const bool is_inside = at >= 0 && at < kRows;
    const int expected =
        is_inside ? values[static_cast<std::size_t>(at * kColumns + i % kColumns)] : 0;
    REQUIRE(found[static_cast<std::size_t>(i)] == expected);
  }
}

/// Takes the elements from `kFirst` on, and puts all of them behind those again.
template <int kFirst, typename L, typename K>
void check_registers() {
  using Joined = Blocked<L::kElements + K::kElements, L::kVector, L::kThreads>;
  std::vector<int> values = numbers(L::kElements, -5000, 5000);
  const auto joined = run<Tile<int, L>, Tile<int, Joined>>(values, [](const auto& tile, void*) {
    const auto part = registers_from<Tile<int, K>, kFirst / L::kThreads>(tile);
    return append<Tile<int, Joined>>(tile, part);
  });
  std::vector<int> expected = values;
  expected.insert(expected.end(), values.begin() + kFirst, values.begin() + kFirst + K::kElements);
  REQUIRE(joined == expected);
}

}  // namespace

TEST_CASE("parts and joins of whole rounds stay in registers") {
  check_registers<256, Blocked<1024, 4, 64>, Blocked<512, 4, 64>>();
  check_registers<512, Blocked<1024, 2, 64>, Blocked<102, 2, 64>>();
  check_registers<0, Blocked<128, 4, 32>, Blocked<1, 4, 32>>();
}

TEST_CASE("a histogram counts each element once, and leaves out what has no place") {
  check_histogram<Blocked<1000, 4, 64>, 16, 1>();
  check_histogram<Blocked<77, 1, 32>, 300, 4>();
  check_histogram<Blocked<500, 4, 64>, 10000, 4>();  // more bins than one piece holds
  check_histogram<PerRow<50, 8, 64>, 10, 1>();       // several threads hold each element
}

TEST_CASE("the index of the largest and the smallest: NaN, then the lowest index") {
  for (const bool has_nan : {false, true}) {
    check_arg_reduce<Larger, Extents<4, 96>, 1, Blocked<384, 4, 64>, Blocked<4, 1, 64>>(has_nan);
    check_arg_reduce<Smaller, Extents<4, 96>, 0, Blocked<384, 4, 64>, Blocked<96, 4, 64>>(has_nan);
    check_arg_reduce<Larger, Extents<3, 5, 7>, 1, Blocked<105, 1, 32>, Blocked<21, 1, 32>>(has_nan);
    check_arg_reduce<Smaller, Extents<3, 5000>, 0, Rows<3, 5000, 4, 64, 64>, Blocked<5000, 4, 64>>(
        has_nan);  // pieces cut through rows
    check_arg_reduce<Larger, Extents<20, 12>, 1, Rows<20, 12, 4, 8, 64>, PerRow<20, 8, 64>>(
        has_nan);
    check_arg_reduce<Larger, Extents<20, 12>, 1, Rows<20, 12, 4, 8, 64>, PerRow<20, 8, 64>, true>(
        has_nan);
    check_arg_reduce<Smaller, Extents<3, 70>, 1, Rows<3, 70, 2, 32, 128>, PerRow<3, 32, 128>, true>(
        has_nan);
    check_arg_reduce<Larger, Extents<100, 5>, 1, Rows<100, 5, 1, 1, 64>, PerRow<100, 1, 64>, true>(
        has_nan);
    check_arg_reduce<Larger, Extents<20, 12>, 0, Rows<20, 12, 4, 8, 64>, PerColumn<12, 4, 8, 64>>(
        has_nan);
  }
  check_arg_reduce_all<Blocked<1000, 4, 96>>();
  check_arg_reduce_all<Blocked<5, 1, 32>>();
  check_arg_reduce_all<PerColumn<48, 4, 16, 64>>();
}

TEST_CASE("running sums along an axis, whole and in pieces, from both ends") {
  check_scan<Extents<100>, 0, false, Blocked<100, 4, 64>, Blocked<100, 1, 64>>();
  check_scan<Extents<4, 97>, 1, false, Blocked<388, 1, 64>, Blocked<388, 4, 64>>();
  check_scan<Extents<4, 96>, 0, true, Blocked<384, 4, 64>, Blocked<384, 4, 64>>();
  check_scan<Extents<3, 5, 7>, 1, true, Blocked<105, 1, 32>, Blocked<105, 1, 32>>();
  check_scan<Extents<2, 5000>, 1, false, Blocked<10000, 4, 64>, Blocked<10000, 4, 64>>();
  check_scan<Extents<2, 5000>, 1, true, Blocked<10000, 4, 64>, Rows<2, 5000, 4, 32, 64>>();
  check_scan<Extents<5000, 2>, 0, true, Blocked<10000, 4, 64>, Blocked<10000, 2, 64>>();
  check_scan<Extents<100>, 0, true, Blocked<100, 4, 128>, Blocked<100, 1, 128>>();
  check_scan<Extents<9001>, 0, false, Blocked<9001, 4, 256>, Blocked<9001, 1, 256>>();
  check_scan<Extents<2, 4500>, 1, true, Blocked<9000, 4, 256>, Blocked<9000, 1, 256>>();
  check_scan<Extents<3, 300>, 1, false, Blocked<900, 4, 256>, Blocked<900, 4, 256>>();
  check_scan<Extents<700, 3>, 0, true, Blocked<2100, 4, 256>, Blocked<2100, 4, 256>>();
  check_scan<Extents<300, 2>, 1, false, Blocked<600, 4, 64>, Blocked<600, 2, 64>>();
  check_scan<Extents<20>, 0, false, PerRow<20, 8, 64>, PerRow<20, 8, 64>>();
}

TEST_CASE("sorting pads lines to a power of two and puts NaN last") {
  check_sort<Extents<100>, 0, false, Blocked<100, 4, 64>, Blocked<100, 1, 64>>();
  check_sort<Extents<4, 33>, 1, true, Blocked<132, 4, 64>, Blocked<132, 4, 64>>();
  check_sort<Extents<33, 4>, 0, false, Blocked<132, 4, 64>, Blocked<132, 4, 64>>();
  check_sort<Extents<3, 5, 7>, 1, true, Blocked<105, 1, 32>, Blocked<105, 1, 32>>();
  check_sort<Extents<5, 2100>, 1, false, Blocked<10500, 4, 64>, Blocked<10500, 4, 64>>();
  check_sort<Extents<7, 1>, 1, false, Blocked<7, 1, 32>, Blocked<7, 1, 32>>();
  check_sort<Extents<20>, 0, true, PerRow<20, 8, 64>, PerRow<20, 8, 64>>();
}

TEST_CASE("where sorted elements stood; equal ones keep their order") {
  check_argsort<Extents<100>, 0, false, float, Blocked<100, 4, 64>, Blocked<100, 1, 64>>();
  check_argsort<Extents<4, 33>, 1, true, double, Blocked<132, 4, 64>, Blocked<132, 4, 64>>();
  check_argsort<Extents<33, 4>, 0, true, int8_t, Blocked<132, 4, 64>, Blocked<132, 4, 64>>();
  check_argsort<Extents<3, 5, 7>, 1, false, short, Blocked<105, 1, 32>, Blocked<105, 1, 32>>();
  check_argsort<Extents<5, 2100>, 1, true, int, Blocked<10500, 4, 64>, Blocked<10500, 4, 64>>();
}

TEST_CASE("transposed, joined and gathered, in pieces too") {
  check_transpose<16, 96, Blocked<16 * 96, 4, 64>, Blocked<16 * 96, 4, 64>>();
  check_transpose<16, 96, Blocked<16 * 96, 4, 64>, Blocked<16 * 96, 4, 64>, 96>();
  check_transpose<300, 40, Blocked<12000, 4, 64>, Blocked<12000, 4, 64>, 40>();
  check_transpose<5, 7, Blocked<35, 1, 32>, Rows<7, 5, 1, 4, 32>>();
  check_transpose<3, 5000, Blocked<15000, 4, 64>, Blocked<15000, 1, 64>>();
  check_cat<1, 40, 9, 1, Blocked<40, 4, 64>, Blocked<9, 1, 64>, Blocked<49, 1, 64>>();
  check_cat<3, 5, 2, 7, Blocked<105, 1, 32>, Blocked<42, 2, 32>, Blocked<147, 1, 32>>();
  check_cat<2, 5000, 5000, 1, Blocked<10000, 4, 64>, Blocked<10000, 4, 64>,
            Blocked<20000, 4, 64>>();
  check_gather<16, 24, 5, Blocked<384, 4, 64>, Blocked<120, 4, 64>, Blocked<120, 4, 64>>();
  check_gather<16, 24, 40, Blocked<384, 4, 64>, Blocked<960, 1, 64>, Blocked<960, 4, 64>>();
  check_gather<5000, 2, 7, Blocked<10000, 4, 64>, Blocked<14, 1, 64>, Blocked<14, 2, 64>>();
}

}  // namespace tilewire::device
