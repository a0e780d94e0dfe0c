#include "bindings/window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>

#include "bindings/array_protocols.h"
#include "bindings/window_view.h"
#include "compiler/ir/type.h"
#include "compiler/jit/tensor_map.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// The registered type, for `as_window`; lives as long as the module, which is never unloaded.
PyTypeObject* window_type = nullptr;

/// `__dlpack__` of the array API standard.
py::object export_dlpack(const ArrayArgument& array, py::object self, const py::object& stream,
                         const py::object& max_version, const py::object& dl_device,
                         const py::object& copy) {
  const dlpack::Device own = to_dlpack(array.device);
  if (!dl_device.is_none()) {
    const auto [type, id] = dl_device.cast<std::pair<std::int32_t, std::int32_t>>();
    if (type != own.type || id != own.id) {
      throw py::buffer_error(fmt::format(
          "a window on {} can't be exported to DLPack device ({}, {}) without a copy, which "
          "tilewire doesn't make",
          array.device.to_string(), type, id));
    }
  }
  if (!copy.is_none() && copy.cast<bool>()) {
    throw py::buffer_error("a window is shared, never copied: export it without copy=True");
  }
  if (array.device.kind == DeviceKind::kCpu) {
    if (!stream.is_none()) throw py::buffer_error("memory of the CPU has no stream: pass None");
  }
  bool versioned = false;
  if (!max_version.is_none()) {
    versioned = max_version.cast<py::tuple>()[0].cast<std::uint32_t>() >= dlpack::kMajorVersion;
  }
  return to_capsule(array, std::move(self), versioned);
}

py::tuple export_device(const ArrayArgument& array) {
  const dlpack::Device device = to_dlpack(array.device);
  return py::make_tuple(device.type, device.id);
}

/// A NumPy array over the same memory. NumPy's dtypes for bf16 and fp8 come from ml_dtypes.
py::object to_numpy(const ArrayArgument& array, const py::object& self) {
  if (array.device.kind != DeviceKind::kCpu) {
    throw UserError(fmt::format(
        "this window is on {}, NumPy's arrays are on the CPU: use `torch.from_dlpack(window)`",
        array.device.to_string()));
  }
  py::module_ numpy = py::module_::import("numpy");
  py::object dtype;
  if (array.dtype == DType::kBF16 || array.dtype == DType::kE4M3 || array.dtype == DType::kE5M2) {
    try {
      dtype = py::module_::import("ml_dtypes").attr(std::string(numpy_name(array.dtype)).c_str());
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_ImportError)) throw;
      throw UserError(
          fmt::format("NumPy has no {} of its own: install ml_dtypes", name_of(array.dtype)));
    }
  } else {
    dtype = numpy.attr("dtype")(numpy_name(array.dtype));
  }
  // From the first element to behind the last one.
  std::int64_t span = array.num_elements() > 0 ? 1 : 0;
  py::list strides;
  for (int i = 0; i < array.rank; ++i) {
    strides.append(array.strides[i] * num_bytes(array.dtype));
    if (span > 0) span += (array.shape[i] - 1) * array.strides[i];
  }
  py::dict interface;
  interface["version"] = 3;
  interface["shape"] = py::make_tuple(span * num_bytes(array.dtype));
  interface["typestr"] = "|u1";
  interface["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(array.data), false);
  py::object holder = py::module_::import("types").attr("SimpleNamespace")(
      py::arg("__array_interface__") = interface, py::arg("owner") = self);
  const py::tuple shape =
      py::cast(std::vector<std::int64_t>(array.shape, array.shape + array.rank));
  const py::object flat = numpy.attr("asarray")(holder).attr("view")(dtype);
  if (array.is_contiguous()) return flat.attr("reshape")(shape);
  return numpy.attr("lib")
      .attr("stride_tricks")
      .attr("as_strided")(flat, shape, py::tuple(strides));
}

/// Whole records of a window of these as a structured array; all else as it is.
py::object with_fields(const py::object& bytes, const py::object& window) {
  const py::object record = py::getattr(window, "record", py::none());
  if (record.is_none()) return bytes;
  const auto shape = bytes.attr("shape").cast<std::vector<std::int64_t>>();
  const auto strides = bytes.attr("strides").cast<std::vector<std::int64_t>>();
  const bool has_whole_ones = !shape.empty() && strides.back() == 1 &&
                              shape.back() == record.attr("num_bytes").cast<std::int64_t>();
  if (!has_whole_ones) return bytes;
  return bytes.attr("view")(record.attr("numpy_dtype"))[py::make_tuple(py::ellipsis(), 0)];
}

/// Adds what a window and a rank's copy of one have in common.
template <typename Class, typename ArrayOf, typename WindowOf>
void define_array_methods(Class& type, ArrayOf array_of, WindowOf window_of) {
  using Self = typename Class::type;
  const auto numpy_of = [array_of, window_of](const py::object& self) {
    return with_fields(to_numpy(array_of(self.cast<const Self&>()), self), window_of(self));
  };
  type.def_property_readonly(
          "shape",
          [array_of](const Self& self) {
            const ArrayArgument array = array_of(self);
            return py::tuple(py::cast(std::vector(array.shape, array.shape + array.rank)));
          })
      .def_property_readonly("dtype", [array_of](const Self& self) { return array_of(self).dtype; })
      .def_property_readonly(
          "device", [array_of](const Self& self) { return array_of(self).device.to_string(); })
      .def_property_readonly("address",
                             [array_of](const Self& self) {
                               return reinterpret_cast<std::uintptr_t>(array_of(self).data);
                             })
      .def(
          "__dlpack__",
          [array_of](py::object self, const py::object& stream, const py::object& max_version,
                     const py::object& dl_device, const py::object& copy) {
            const ArrayArgument array = array_of(self.cast<const Self&>());
            return export_dlpack(array, self, stream, max_version, dl_device, copy);
          },
          py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__",
           [array_of](const Self& self) { return export_device(array_of(self)); })
      .def("numpy", numpy_of,
           "A NumPy array over the same memory (CPU only). Records are structured elements.")
      .def(
          "__array__",
          [numpy_of](const py::object& self, const py::object& dtype, const py::object& copy) {
            const py::object result = numpy_of(self);
            const bool copies = !copy.is_none() && copy.cast<bool>();
            if (dtype.is_none()) return copies ? result.attr("copy")() : result;
            return result.attr("astype")(dtype, py::arg("copy") = copies);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none());
}

Parameter::Kind kind_from(const std::string& name) {
  for (const Parameter::Kind each : {Parameter::Kind::kWindow, Parameter::Kind::kSemaphore,
                                     Parameter::Kind::kFlag, Parameter::Kind::kChannel}) {
    if (name == name_of(each)) return each;
  }
  throw InternalError("there is no symmetric memory of the kind \"" + name + "\"");
}

std::shared_ptr<WindowObject> make_window(DType dtype, std::vector<std::int64_t> shape,
                                          const std::string& device, int device_index, int rank,
                                          const std::vector<std::uintptr_t>& copies,
                                          py::object owner, std::uintptr_t communicator,
                                          std::uintptr_t lane, const std::string& kind,
                                          std::int64_t rotate, const ChannelType& channel,
                                          int team_size) {
  if (device != "cpu" && device != "cuda") {
    throw UserError("a window's device is \"cpu\" or \"cuda\", not \"" + device + "\"");
  }
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) {
    throw UserError(
        fmt::format("a window has at most {} dimensions, not {}", kMaxRank, shape.size()));
  }
  if (rank < 0 || static_cast<std::size_t>(rank) >= copies.size()) {
    throw UserError(fmt::format("rank {} of a window with {} copies", rank, copies.size()));
  }
  auto window = std::make_shared<WindowObject>();
  window->dtype = dtype;
  window->shape = std::move(shape);
  window->device = {device == "cpu" ? DeviceKind::kCpu : DeviceKind::kCuda, device_index};
  window->rank = rank;
  for (std::uintptr_t copy : copies) window->copies.push_back(reinterpret_cast<void*>(copy));
  window->communicator = reinterpret_cast<const void*>(communicator);
  window->lane = reinterpret_cast<const void*>(lane);
  window->handle.local = window->local();
  window->kind = kind_from(kind);
  window->rotate = rotate;
  window->channel = channel;
  window->team_size = team_size;
  if (window->kind != Parameter::Kind::kWindow) {
    window->dtype = object_dtype(memory_of(window->kind));
  }
  // The last reference may be dropped where no thread holds the GIL.
  window->owner = std::shared_ptr<void>(owner.release().ptr(), [](void* object) {
    const py::gil_scoped_acquire gil;
    Py_DECREF(static_cast<PyObject*>(object));
  });
  return window;
}

}  // namespace

std::int64_t WindowObject::num_bytes() const {
  std::int64_t count = tilewire::num_bytes(dtype);
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

void WindowObject::retire() {
  is_retired = true;
  std::fill(copies.begin(), copies.end(), nullptr);
  handle = {};
  communicator = nullptr;  // compiled forms serve windows of their own communicator only
}

ArrayArgument WindowObject::copy_of(int of_rank) const {
  if (has_host_view()) return part_of(of_rank);
  if (kind != Parameter::Kind::kWindow) {
    throw UserError(
        fmt::format("a {} is no array: only kernels touch what lies in it, by the functions for it",
                    name_of(kind)));
  }
  throw UserError(
      "a rotating window has no view on the host and no DLPack: each launch sees another of its "
      "copies. Make one without rotate= to share it");
}

bool WindowObject::is_mappable() const {
  if (kind != Parameter::Kind::kWindow) return false;
  std::int64_t strides[kMaxRank];
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  constexpr std::uint64_t kAlignedAddress = 0;  // as those of all windows are
  return tilewire::is_mappable(dtype, kAlignedAddress, shape, {strides, shape.size()});
}

void* WindowObject::host_copy(int of_rank) const {
  if (of_rank < 0 || static_cast<std::size_t>(of_rank) >= copies.size()) return nullptr;
  if (team_size > 0 && of_rank / team_size != rank / team_size) return nullptr;
  return copies[static_cast<std::size_t>(of_rank)];
}

ArrayArgument WindowObject::part_of(int of_rank) const {
  if (is_retired) throw UserError("this window was given back by `comm.free`: make a new one");
  if (host_copy(of_rank) == nullptr) {
    throw UserError(
        fmt::format("rank {}'s copy of this window can't be reached from rank {} on the "
                    "host; the world has {} ranks, and loads and stores reach those of a team",
                    of_rank, rank, copies.size()));
  }
  ArrayArgument array;
  array.data = host_copy(of_rank);
  array.dtype = dtype;
  array.device = device;
  array.read_only = false;
  array.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), array.shape);
  set_contiguous_strides(array);
  return array;
}

const WindowObject* as_window(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type != window_type && (window_type == nullptr || !PyType_IsSubtype(type, window_type))) {
    return nullptr;
  }
  // The first value of a pybind11 instance; the holder (a shared_ptr) fits the simple layout.
  const auto* instance = reinterpret_cast<const py::detail::instance*>(object);
  const void* value = instance->simple_layout ? instance->simple_value_holder[0]
                                              : instance->nonsimple.values_and_holders[0];
  return static_cast<const WindowObject*>(value);
}

namespace {

void bind_window_view(py::module_& module) {
  py::class_<WindowView> view(module, "WindowView",
                              "A part of one rank's copy of a window, for the host.");
  define_array_methods(
      view, [](const WindowView& self) { return self.array(); },
      [](const py::object& self) { return self.attr("window"); });
  view.def_readonly("rank", &WindowView::rank)
      .def_readonly("is_own", &WindowView::is_own, "No rank was named: it is each rank's own.")
      .def_property_readonly("window", [](const WindowView& self) { return self.window; })
      .def("at", &WindowView::at, py::arg("rank"), "The same part of another rank's copy.")
      .def("__getitem__", &WindowView::sliced, py::arg("key"), "A part of it.");
}

}  // namespace

void bind_window(py::module_& module) {
  py::class_<WindowObject, std::shared_ptr<WindowObject>> window(
      module, "Window",
      "Symmetric memory: the same shape and dtype on every rank. Made by `comm.window(…)`; shared "
      "with other frameworks by DLPack (`torch.from_dlpack(window)` is this rank's copy).");
  window_type = reinterpret_cast<PyTypeObject*>(window.ptr());
  window.def(
      py::init(&make_window), py::kw_only(), py::arg("dtype"), py::arg("shape"), py::arg("device"),
      py::arg("device_index") = 0, py::arg("rank"), py::arg("copies"), py::arg("owner"),
      py::arg("communicator") = 0, py::arg("lane") = 0, py::arg("kind") = "window",
      py::arg("rotate") = 0, py::arg("channel") = ChannelType(), py::arg("team_size") = 0,
      "`copies`: every rank's address. `owner`: an object that keeps the memory alive. "
      "`communicator` and `lane`: numbers that tell them apart. `kind`: \"window\", or "
      "\"semaphore\", \"flag\", \"channel\" for an array of such objects. `team_size`: on the "
      "CPU, so many ranks of a team reach each other; 0: all.");
  define_array_methods(
      window, [](const WindowObject& self) { return self.copy_of(self.rank); },
      [](const py::object& self) { return self; });
  // These are no views: every kind has them.
  window.def_property_readonly(
      "shape", [](const WindowObject& self) { return py::tuple(py::cast(self.shape)); });
  window.def_property_readonly("device",
                               [](const WindowObject& self) { return self.device.to_string(); });
  window.def_property_readonly("dtype", [](const WindowObject& self) { return self.dtype; });
  window.def_readonly("rank", &WindowObject::rank)
      .def_property_readonly("kind", [](const WindowObject& self) { return name_of(self.kind); })
      .def_readonly("rotate", &WindowObject::rotate)
      .def_property_readonly("channel", [](const WindowObject& self) { return self.channel; })
      .def_property_readonly("num_bytes", &WindowObject::num_bytes)
      .def_property_readonly(
          "copies",
          [](const WindowObject& self) {
            std::vector<std::uintptr_t> addresses;
            for (std::size_t i = 0; i < self.copies.size(); ++i) {
              const void* copy = self.host_copy(static_cast<int>(i));
              addresses.push_back(reinterpret_cast<std::uintptr_t>(copy));
            }
            return addresses;
          },
          "Addresses of all ranks' parts; 0 where this process can't reach one.")
      .def_readwrite("is_filled", &WindowObject::is_filled,
                     "Of flags: copy engines have filled it.")
      .def_readonly("is_retired", &WindowObject::is_retired)
      .def("retire", &WindowObject::retire, "Called when its memory was given back.")
      .def(
          "at",
          [](const std::shared_ptr<WindowObject>& self, int rank) {
            return WindowView::whole(self, rank);
          },
          py::arg("rank"), "The copy of a rank, for the host.")
      .def(
          "__getitem__",
          [](const std::shared_ptr<WindowObject>& self, const py::object& key) {
            WindowView own = WindowView::whole(self, self->rank);
            own.is_own = true;
            return own.sliced(key);
          },
          py::arg("key"), "A part of this rank's copy, for the host.");
  bind_window_view(module);
}

}  // namespace tilewire::bindings
