#include <algorithm>
#include <memory>

#include "bindings/window.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// What an exported tensor's deleter frees: the structure that the consumer sees, the shape that it
/// points to, and the Python object that keeps the memory.
template <typename Managed>
struct Export {
  Managed managed{};
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank];
  PyObject* keep_alive = nullptr;
};

/// Consumers call this from any thread, perhaps after the interpreter has ended.
template <typename Managed>
void delete_export(Managed* self) {
  auto* exported = static_cast<Export<Managed>*>(self->context);
  if (Py_IsInitialized() != 0) {
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(exported->keep_alive);
    PyGILState_Release(state);
  }
  delete exported;
}

/// A capsule that nobody consumed still has its first name and owns the tensor.
template <typename Managed>
void destroy_capsule(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  const bool unused = name != nullptr && (std::string_view(name) == dlpack::kCapsule ||
                                          std::string_view(name) == dlpack::kVersionedCapsule);
  if (!unused) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename Managed>
py::object make_capsule(const ArrayArgument& copy, py::object keep_alive, const char* name) {
  auto exported = std::make_unique<Export<Managed>>();
  std::copy_n(copy.shape, copy.rank, exported->shape);
  std::copy_n(copy.strides, copy.rank, exported->strides);
  dlpack::Tensor& tensor = exported->managed.tensor;
  tensor.data = copy.data;
  tensor.device = to_dlpack(copy.device);
  tensor.rank = copy.rank;
  tensor.dtype = to_dlpack(copy.dtype);
  tensor.shape = exported->shape;
  tensor.strides = exported->strides;
  tensor.byte_offset = 0;
  exported->managed.context = exported.get();
  exported->managed.deleter = &delete_export<Managed>;
  PyObject* capsule = PyCapsule_New(&exported->managed, name, &destroy_capsule<Managed>);
  if (capsule == nullptr) throw py::error_already_set();
  exported->keep_alive = keep_alive.release().ptr();
  exported.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

py::object to_capsule(const ArrayArgument& copy, py::object keep_alive, bool versioned) {
  if (!versioned) {
    return make_capsule<dlpack::ManagedTensor>(copy, std::move(keep_alive), dlpack::kCapsule);
  }
  py::object capsule = make_capsule<dlpack::ManagedTensorVersioned>(copy, std::move(keep_alive),
                                                                    dlpack::kVersionedCapsule);
  auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule.ptr(), dlpack::kVersionedCapsule));
  managed->version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  managed->flags = copy.read_only ? dlpack::kFlagReadOnly : 0;
  return capsule;
}

}  // namespace tilewire::bindings
