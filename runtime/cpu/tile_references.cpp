#include "runtime/cpu/tile_references.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// `constants`: rank, bytes of an element. Operands: to, from, then extent and both strides of each
/// dimension, in elements.
void view_copy(CpuInstance*, const CpuTile* tiles, const std::int64_t* constants) {
  const auto rank = static_cast<std::size_t>(constants[0]);
  const std::int64_t element = constants[1];
  const auto number = [&](std::size_t dimension, std::size_t which) {
    return *static_cast<const std::int64_t*>(tiles[2 + 3 * dimension + which].data);
  };
  std::vector<std::int64_t> index(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (number(i, 0) <= 0) return;
  }
  auto* to = static_cast<std::byte*>(tiles[0].data);
  const auto* from = static_cast<const std::byte*>(tiles[1].data);
  while (true) {
    std::int64_t to_offset = 0;
    std::int64_t from_offset = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      to_offset += index[i] * number(i, 1);
      from_offset += index[i] * number(i, 2);
    }
    const bool is_run = number(rank - 1, 1) == 1 && number(rank - 1, 2) == 1;
    const std::int64_t count = is_run ? number(rank - 1, 0) : 1;
    std::memmove(to + to_offset * element, from + from_offset * element,
                 static_cast<std::size_t>(count * element));
    index[rank - 1] += count;
    for (std::size_t i = rank - 1; index[i] == number(i, 0); --i) {
      if (i == 0) return;
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

}  // namespace

std::vector<CpuSymbol> tile_references() {
  return {{"tilewire_argsort", reinterpret_cast<void*>(argsort)},
          {"tilewire_histogram", reinterpret_cast<void*>(histogram)},
          {"tilewire_sort", reinterpret_cast<void*>(sort)},
          {"tilewire_view_copy", reinterpret_cast<void*>(view_copy)}};
}

}  // namespace tilewire
