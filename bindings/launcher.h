#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "compiler/jit/artifact.h"

namespace tilewire {
union ArgumentValue;  // runtime/driver/kernel.h
}

namespace tilewire::bindings {

/// One compiled form of a kernel, ready to launch on one GPU and lane: what a Launcher ends in.
class LaunchTarget {
 public:
  virtual ~LaunchTarget() = default;
  virtual const Artifact& artifact() const = 0;
  /// The GPU that all arguments must be on.
  virtual int device_index() const = 0;
  /// The lane and the communicator that windows must belong to; null: any.
  virtual const void* lane() const = 0;
  virtual const void* communicator() const = 0;
  /// The grid of `tw.auto` for run-time extents in the order of `Artifact::dimensions`.
  virtual int auto_grid(std::span<const std::int64_t> extents) const = 0;
  /// One value per slot of `Artifact::arguments`; those of kDeviceComm and kLane are the target's
  /// own. Called without the GIL where the kernel waits for others, else with it. No Python.
  virtual void launch(int grid, std::uintptr_t stream, const ArgumentValue* values) = 0;
};

/// Adds `LaunchTarget` (opaque) and `Launcher` to the module.
///
/// `Launcher(fallback, parameters, *, stream=None)` is what `kernel[grid]` gives for a GPU.
/// `parameters`: one tuple per parameter of the user's function, in order: (name, kind, default)
/// with kind `"tensor"`, `"window"`, `"scalar"` or `"constant"`, and `...` for no default.
/// `stream`: the handle to launch on; None: the framework's current one at each call.
///
/// `launcher.add(target, grid, constants)` tells it of a compiled form: `grid` an int, or None for
/// `tw.auto`; `constants` a dict with the value of every `tw.const` parameter. A call whose
/// arguments it serves (dtypes, ranks, static extents, facts, constants, device, lane) launches
/// from C++ alone; every other call goes to `fallback(*args, **kwargs)`, which compiles, adds and
/// launches, or raises. The form that served last is tried first.
void bind_launcher(pybind11::module_& module);

}  // namespace tilewire::bindings
