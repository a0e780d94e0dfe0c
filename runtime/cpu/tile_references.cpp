#include "runtime/cpu/tile_references.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "runtime/cpu/reference.h"

namespace tilewire {
namespace {

/// tiles: counts i32[bins], integers. Numbers outside of [0, bins) are left out.
void histogram(CpuInstance*, const CpuTile* tiles, const std::int64_t*) {
  const std::span<std::int32_t> counts = elements<std::int32_t>(tiles[0]);
  std::ranges::fill(counts, 0);
  visit_dtype(tiles[1], [&](auto type) {
    for (const auto number : elements<decltype(type)>(tiles[1])) {
      // Negative numbers are large as unsigned ones.
      const auto bin = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
      if (bin < counts.size()) ++counts[bin];
    }
  });
}

/// Whether `a` stands before `b`; NaN behind everything.
template <typename T>
bool goes_before(T a, T b, bool is_descending) {
  const bool is_unordered = !(a == a) || !(b == b);
  if (is_unordered) return a == a && !(b == b);
  return is_descending ? a > b : a < b;
}

/// Calls `visit(first, inner)` for each line along an axis: the number of its first element, and
/// the elements between neighbours.
template <typename Visit>
void visit_lines(const CpuTile& tile, std::size_t axis, const Visit& visit) {
  const auto extent = static_cast<std::size_t>(tile.shape[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < 3; ++i) inner *= static_cast<std::size_t>(tile.shape[i]);
  const std::size_t num_lines = static_cast<std::size_t>(tile.num_elements()) / extent;
  for (std::size_t line = 0; line < num_lines; ++line) {
    visit(line / inner * inner * extent + line % inner, inner);
  }
}

/// constants: axis, whether descending. Equal elements keep their order. `numbers` may be null.
void sort_lines(const CpuTile& sorted, const CpuTile* numbers, const CpuTile& unsorted,
                const std::int64_t* constants) {
  const auto axis = static_cast<std::size_t>(constants[0]);
  const bool is_descending = constants[1] != 0;
  const auto extent = static_cast<std::size_t>(unsorted.shape[axis]);
  std::vector<std::int32_t> order(extent);
  visit_dtype(unsorted, [&](auto type) {
    using T = decltype(type);
    const std::span<T> result = elements<T>(sorted);
    const std::span<T> source = elements<T>(unsorted);
    visit_lines(unsorted, axis, [&](std::size_t first, std::size_t inner) {
      const auto at = [&](std::int32_t i) {
        return source[first + static_cast<std::size_t>(i) * inner];
      };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
        return goes_before(+at(a), +at(b), is_descending);
      });
      for (std::size_t i = 0; i < extent; ++i) {
        result[first + i * inner] = at(order[i]);
        if (numbers != nullptr) elements<std::int32_t>(*numbers)[first + i * inner] = order[i];
      }
    });
  });
}

/// tiles: sorted, unsorted.
void sort(CpuInstance*, const CpuTile* tiles, const std::int64_t* constants) {
  sort_lines(tiles[0], nullptr, tiles[1], constants);
}

/// tiles: sorted, numbers i32, unsorted.
void argsort(CpuInstance*, const CpuTile* tiles, const std::int64_t* constants) {
  sort_lines(tiles[0], &tiles[1], tiles[2], constants);
}

}  // namespace

std::vector<CpuSymbol> tile_references() {
  return {{"tilewire_argsort", reinterpret_cast<void*>(argsort)},
          {"tilewire_histogram", reinterpret_cast<void*>(histogram)},
          {"tilewire_sort", reinterpret_cast<void*>(sort)}};
}

}  // namespace tilewire
