#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/window.h"

namespace tilewire::bindings {

/// A part of one rank's copy of a window, for the host: what `w.at(r)`, `w[i, 2:5]` and
/// `w[i].at(r)` give. Owns no memory, but keeps the window.
struct WindowView {
  std::shared_ptr<WindowObject> window;
  int rank = 0;
  std::int64_t offset = 0;  ///< in elements, of the first one
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements
  bool is_own = false;                ///< of each rank's own copy, where no rank was named

  /// All of a rank's copy. UserError where this process can't reach it.
  static WindowView whole(std::shared_ptr<WindowObject> window, int rank);
  /// The same part of another rank's copy.
  WindowView at(int other) const;
  /// Integers, slices of positive step, and one `...`. IndexError as Python has it, UserError for
  /// any other key.
  WindowView sliced(const pybind11::object& key) const;
  /// UserError where the memory was given back.
  ArrayArgument array() const;
};

}  // namespace tilewire::bindings
