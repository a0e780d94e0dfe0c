#include "runtime/cpu/tile_references.h"

#include <algorithm>
#include <cstddef>
#include <memory>
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

/// tiles: sorted, unsorted. constants: axis, whether descending.
void sort(CpuInstance*, const CpuTile* tiles, const std::int64_t* constants) {
  const auto axis = static_cast<std::size_t>(constants[0]);
  const bool is_descending = constants[1] != 0;
  const auto extent = static_cast<std::size_t>(tiles[0].shape[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < 3; ++i) inner *= static_cast<std::size_t>(tiles[0].shape[i]);
  visit_dtype(tiles[1], [&](auto type) {
    using T = decltype(type);
    const std::span<T> result = elements<T>(tiles[0]);
    const std::span<T> source = elements<T>(tiles[1]);
    const auto room = std::make_unique<T[]>(extent);
    const std::span<T> line(room.get(), extent);
    for (std::size_t number = 0; number < source.size() / extent; ++number) {
      const std::size_t first = number / inner * inner * extent + number % inner;
      for (std::size_t i = 0; i < extent; ++i) line[i] = source[first + i * inner];
      std::ranges::stable_sort(line, [&](T a, T b) { return goes_before(+a, +b, is_descending); });
      for (std::size_t i = 0; i < extent; ++i) result[first + i * inner] = line[i];
    }
  });
}

}  // namespace

std::vector<CpuSymbol> tile_references() {
  return {{"tilewire_histogram", reinterpret_cast<void*>(histogram)},
          {"tilewire_sort", reinterpret_cast<void*>(sort)}};
}

}  // namespace tilewire
