#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/arguments.h"
#include "compiler/ir/program.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire::bindings {

/// Symmetric memory as Python holds it (`_tilewire.Window`): made by the communicator, taken by
/// kernels. A window is row-major and contiguous, the same shape on all ranks, and shared with
/// other frameworks by DLPack; one that rotates, or an array of synchronisation objects, is not.
/// Its fields change by `retire` only, and `is_filled` once, and never move.
struct WindowObject {
  Parameter::Kind kind = Parameter::Kind::kWindow;  ///< or an array of objects
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  ArrayDevice device{DeviceKind::kCpu, 0};
  int rank = 0;  ///< whose copy DLPack and `local()` give
  /// CPU: the address of every rank's copy, in rank order. GPU: this rank's address at `rank`, the
  /// others as far as this process can reach them, else null.
  std::vector<void*> copies;
  /// CPU, as one rank of several teams sees it: loads reach those of its team, of so many. 0: all.
  int team_size = 0;
  device::WindowHandle handle{};  ///< GPU: what kernels get
  /// Which communicator and which lane it belongs to: compared, never followed. Windows with
  /// different ones don't go into one call.
  const void* communicator = nullptr;
  const void* lane = nullptr;
  std::shared_ptr<void> owner;  ///< keeps the memory
  std::int64_t rotate = 0;      ///< a window of so many copies
  ChannelType channel;          ///< of kChannel
  bool is_filled = false;       ///< of kFlag: copy engines fill it, so that no kernel may set it

  void* local() const { return copies.at(static_cast<std::size_t>(rank)); }
  /// A rank's copy; null where the host can't reach it.
  void* host_copy(int of_rank) const;
  bool is_retired = false;  ///< its memory was given back

  /// Its memory was given back: from now on its use is a UserError, and no launch takes it.
  void retire();
  /// Whether the host sees its elements: a window that doesn't rotate.
  bool has_host_view() const { return kind == Parameter::Kind::kWindow && rotate == 0; }
  /// Whether a tensor map can describe a rank's copy.
  bool is_mappable() const;
  std::int64_t num_bytes() const;
  /// The copy of one rank as an array; UserError where this process can't reach it.
  ArrayArgument copy_of(int of_rank) const;
  /// This rank's part as an argument of a kernel: of objects, where they begin and how many.
  ArrayArgument as_argument() const { return part_of(rank); }

 private:
  ArrayArgument part_of(int of_rank) const;
};

/// The window in a Python object, or null where it is something else. Takes a few nanoseconds:
/// no search through pybind11's registry. Subclasses are windows, too.
const WindowObject* as_window(PyObject* object);

/// A new capsule for `copy` (DLPack's versioned form where `versioned`). `keep_alive` is released
/// by the capsule's or its consumer's deleter.
pybind11::object to_capsule(const ArrayArgument& copy, pybind11::object keep_alive, bool versioned);

/// Adds `Window` and `WindowCopy` (what `window.at(rank)` gives on the host): `shape`, `dtype`,
/// `device`, `__dlpack__`, `__dlpack_device__`, and on the CPU `numpy()` and `__array__`.
void bind_window(pybind11::module_& module);

}  // namespace tilewire::bindings
