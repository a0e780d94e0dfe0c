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
  /// Dimension of the tile → whether the view may end before the map does: behind its edge there
  /// are neighbours. Elsewhere its elements outside are outside of the map, too.
  std::vector<bool> is_clipped;
  /// Bools: where one is false, nothing of the view exists.
  std::vector<Value*> guards;
};

/// Nothing where no map of the whole parameter describes the view. `whole`: the view that the
/// parameter is.
std::optional<MapPlace> place_in_map(const LoweredView& view, const LoweredView& whole,
                                     Bounds& bounds, Inserter& insert);

}  // namespace tilewire
