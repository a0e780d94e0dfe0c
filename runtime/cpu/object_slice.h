#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewire {

/// Elements of an array of synchronisation objects, as reference functions get them.
struct ObjectSlice {
  std::vector<std::int64_t> shape;  ///< empty: one element
  std::vector<std::int64_t> strides;

  /// constants: number of dimensions, extents, strides.
  static ObjectSlice of(const std::int64_t* constants) {
    const std::int64_t rank = constants[0];
    return {{constants + 1, constants + 1 + rank},
            {constants + 1 + rank, constants + 1 + 2 * rank}};
  }

  std::int64_t num_elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
  }
  /// An element's indices in the slice.
  std::vector<std::int64_t> indices(std::int64_t element) const {
    std::vector<std::int64_t> indices(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; element /= shape[d]) {
      indices[d] = element % shape[d];
    }
    return indices;
  }
  /// Where it is, counted in elements from the slice's first.
  std::int64_t place(std::int64_t element) const {
    std::int64_t place = 0;
    const std::vector<std::int64_t> at = indices(element);
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * strides[d];
    return place;
  }
};

}  // namespace tilewire
