// Slices of arrays of synchronisation objects.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

/// The number, from the first one on, of element `i` of a slice of an array; both shapes are
/// `Extents`, strides in elements.
template <typename Shape, typename Strides>
struct ObjectSlice {
  static constexpr int kElements = Shape::kElements;
  TILEWIRE_CONSTEXPR uint32_t operator()(int i) const {
    uint32_t place = 0;
    for (int d = Shape::kRank - 1; d >= 0; --d) {
      place += i % Shape::size(d) * Strides::size(d);
      i /= Shape::size(d);
    }
    return place;
  }
};

}  // namespace tilewire::device
