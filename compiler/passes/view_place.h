#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/passes/view_access.h"

namespace tilewire {

/// Where the tile that a view looks at lies in its parameter, as a tensor map finds it.
struct MapPlace {
  /// Of the tile's first element, along each dimension of the parameter: index values.
  std::vector<Value*> coordinates;
  /// The parameter's dimension that each dimension of the tile goes along.
  std::vector<std::int64_t> dimensions;
};

/// Nothing where no map of the whole parameter gives exactly the view's elements, and zeros where
/// the view has none: behind its own edge a clipped view may have neighbours. `whole`: the view
/// that the parameter is.
std::optional<MapPlace> place_in_map(const LoweredView& view, const LoweredView& whole,
                                     Bounds& bounds, Inserter& insert);

}  // namespace tilewire
