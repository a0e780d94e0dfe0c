#include "bindings/current_stream.h"

#include <pybind11/pybind11.h>

#include "bindings/arguments.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// How PyTorch tells its current stream, found once it is imported.
struct TorchStreams {
  const dlpack::ExchangeApi* api = nullptr;
  PyObject* raw_getter = nullptr;  ///< `torch._C._cuda_getCurrentRawStream(device)`

  bool is_found() const { return api != nullptr || raw_getter != nullptr; }
};

PyObject* get_attribute(PyObject* object, const char* name) {
  PyObject* value = object == nullptr ? nullptr : PyObject_GetAttrString(object, name);
  if (value == nullptr) PyErr_Clear();
  return value;
}

/// Looks among the modules that are imported already; never imports.
TorchStreams find_torch() {
  TorchStreams streams;
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");  // borrowed
  PyObject* tensor = get_attribute(torch, "Tensor");
  if (tensor != nullptr && PyType_Check(tensor)) {
    streams.api = exchange_api_of(reinterpret_cast<PyTypeObject*>(tensor));
  }
  if (streams.api == nullptr) {
    PyObject* internals = get_attribute(torch, "_C");
    streams.raw_getter = get_attribute(internals, "_cuda_getCurrentRawStream");
    Py_XDECREF(internals);
  }
  Py_XDECREF(tensor);
  return streams;
}

std::optional<std::uintptr_t> ask(const dlpack::ExchangeApi& api, int device_index) {
  void* stream = nullptr;
  if (api.current_work_stream(dlpack::kCuda, device_index, &stream) != 0) return {};
  return reinterpret_cast<std::uintptr_t>(stream);
}

std::optional<std::uintptr_t> ask(PyObject* raw_getter, int device_index) {
  PyObject* index = PyLong_FromLong(device_index);
  PyObject* stream = index == nullptr ? nullptr : PyObject_CallOneArg(raw_getter, index);
  Py_XDECREF(index);
  if (stream == nullptr) return {};
  void* handle = PyLong_AsVoidPtr(stream);
  Py_DECREF(stream);
  if (handle == nullptr && PyErr_Occurred() != nullptr) return {};
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// Whether PyTorch has used CUDA: where not, its current stream is the default one.
bool torch_uses_cuda() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");  // borrowed
  PyObject* cuda = get_attribute(torch, "cuda");
  PyObject* answer =
      cuda == nullptr ? nullptr : PyObject_CallMethod(cuda, "is_initialized", nullptr);
  if (answer == nullptr) PyErr_Clear();
  const bool initialised = answer != nullptr && PyObject_IsTrue(answer) == 1;
  Py_XDECREF(answer);
  Py_XDECREF(cuda);
  return initialised;
}

/// PyTorch can't tell where its CUDA doesn't work (built for a newer driver, say): then no stream
/// of its own can be current.
std::optional<std::uintptr_t> default_unless_in_use() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const bool in_use = torch_uses_cuda();
  if (in_use) {
    PyErr_Restore(type, value, traceback);
    return {};
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return 0;
}

}  // namespace

std::optional<std::uintptr_t> current_stream(int device_index, const dlpack::ExchangeApi* api) {
  if (api != nullptr && api->current_work_stream != nullptr) return ask(*api, device_index);
  static TorchStreams torch;  // guarded by the GIL
  if (!torch.is_found()) torch = find_torch();
  if (!torch.is_found()) return 0;
  const auto stream =
      torch.api != nullptr ? ask(*torch.api, device_index) : ask(torch.raw_getter, device_index);
  return stream ? stream : default_unless_in_use();
}

}  // namespace tilewire::bindings
