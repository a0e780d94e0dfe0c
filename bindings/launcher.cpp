#include "bindings/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <forward_list>
#include <utility>

#include "bindings/current_stream.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

constexpr std::size_t kMaxForms = 32;

thread_local bool holds_calls = false;

/// pybind11's `gil_scoped_release` without its bookkeeping, which costs as much as the rest.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

bool convert_scalar(PyObject* object, CallArguments::One& out, Owners& owners) {
  out.scalar = object;
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object)) return true;
  py::object number = plain_number(object, DType::kF64);
  if (!number) return false;
  out.scalar = number.ptr();
  owners.push_back(std::move(number));
  return true;
}

/// This rank's copy of a window. Its shape belongs to the window.
void set_copy_of(const WindowObject& window, CallArguments::One& out) {
  out.tensor = {.data = window.local(),
                .device = to_dlpack(window.device),
                .rank = static_cast<std::int32_t>(window.shape.size()),
                .dtype = to_dlpack(window.dtype),
                .shape = const_cast<std::int64_t*>(window.shape.data()),
                .strides = nullptr,
                .byte_offset = 0};
  out.read_only = false;
}

/// Shape and strides stay in `array`.
void set_array(ArrayArgument& array, CallArguments::One& out) {
  out.tensor = {.data = array.data,
                .device = to_dlpack(array.device),
                .rank = array.rank,
                .dtype = to_dlpack(array.dtype),
                .shape = array.shape,
                .strides = array.strides,
                .byte_offset = 0};
  out.read_only = array.read_only;
}

}  // namespace

/// What lives through one call; large, and mostly never written.
struct Launcher::CallState {
  PyObject* const* passed;                   ///< by parameter, constants left out
  PyObject* const* constants;                ///< null: left out
  const dlpack::ExchangeApi* api = nullptr;  ///< of the first array that has one
  bool is_stale = false;  ///< other code has run, which may have resized a tensor
  CallArguments arguments;
  ArgumentValue values[kMaxArguments];
  PyObject* named[2 * kMaxCallParameters];  ///< what the two first point to, if names were used
  // Empty on the fast path:
  Owners owners;
  std::forward_list<ArrayArgument> arrays;  ///< with the shapes that `arguments` points to
};

/// A call under way: keeps all forms, since comparing constants, asking for the stream and waiting
/// without the GIL let other code run, which may add forms and so drop others.
class Launcher::Call {
 public:
  explicit Call(Launcher& launcher) : launcher_(launcher) { ++launcher.num_calls_; }
  ~Call() {
    if (--launcher_.num_calls_ == 0 && !launcher_.dropped_.empty()) launcher_.dropped_.clear();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Launcher& launcher_;
};

Launcher::Launcher(py::object fallback, std::vector<CallParameter> parameters,
                   std::optional<int> grid, std::optional<std::uintptr_t> stream)
    : fallback_(std::move(fallback)),
      parameters_(std::move(parameters)),
      grid_(grid),
      stream_(stream) {
  for (CallParameter& parameter : parameters_) {
    const bool constant = parameter.kind == CallParameter::Kind::kConstant;
    parameter.index = constant ? num_constants_++ : num_arguments_++;
    if (!constant && num_constants_ > 0) throw InternalError("constants come last");
    if (constant) default_constants_.push_back(parameter.default_value.ptr());
  }
  if (parameters_.size() > kMaxCallParameters || num_arguments_ > CallArguments::kMaxParameters) {
    throw UserError(fmt::format("a kernel has at most {} parameters and {} constants",
                                CallArguments::kMaxParameters,
                                kMaxCallParameters - CallArguments::kMaxParameters));
  }
}

PyObject* Launcher::call(PyObject* const* args, std::size_t nargsf, PyObject* names) {
  if (!forms_.empty() && !holds_calls && launch(args, PyVectorcall_NARGS(nargsf), names)) {
    Py_RETURN_NONE;
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  // The fallback may drop the last reference to itself.
  const py::object fallback = fallback_;
  return PyObject_Vectorcall(fallback.ptr(), args, nargsf, names);
}

bool Launcher::hold_calls(bool held) { return std::exchange(holds_calls, held); }

void Launcher::add(std::shared_ptr<LaunchTarget> target, const py::dict& constants,
                   std::optional<LocalFacts> facts) {
  std::vector<py::object> values(num_constants_);
  for (const CallParameter& parameter : parameters_) {
    if (parameter.kind != CallParameter::Kind::kConstant) continue;
    if (!constants.contains(parameter.name)) {
      throw InternalError(
          fmt::format("no value for the constant `{}`", parameter.name.cast<std::string>()));
    }
    values[parameter.index] = constants[parameter.name];
  }
  if (target->artifact().parameters.size() != num_arguments_) {
    throw InternalError(fmt::format("the artifact of `{}` has other parameters than its launcher",
                                    target->artifact().kernel));
  }
  auto form =
      std::make_shared<CallForm>(std::move(target), grid_, std::move(values), std::move(facts));
  forms_.insert(forms_.begin(), std::move(form));
  if (forms_.size() <= kMaxForms) return;
  if (num_calls_ > 0) dropped_.push_back(forms_.back());
  forms_.pop_back();
}

int Launcher::traverse(visitproc visit, void* arg) const {
  Py_VISIT(fallback_.ptr());
  for (const CallParameter& parameter : parameters_) {
    Py_VISIT(parameter.default_value.ptr());
    Py_VISIT(parameter.type.ptr());
  }
  for (const auto& form : forms_) {
    if (const int result = form->traverse(visit, arg)) return result;
  }
  return 0;
}

/// The parameter of this name, looked for from `hint` on; -1 where there is none.
std::ptrdiff_t Launcher::find(PyObject* name, std::size_t hint) const {
  if (hint < parameters_.size() && parameters_[hint].name.ptr() == name) {
    return static_cast<std::ptrdiff_t>(hint);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name.ptr() == name) return static_cast<std::ptrdiff_t>(i);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (PyUnicode_Compare(parameters_[i].name.ptr(), name) == 0) {
      return static_cast<std::ptrdiff_t>(i);
    }
  }
  return -1;
}

bool Launcher::assign(PyObject* const* args, Py_ssize_t num_positional, PyObject* names,
                      CallState& state) const {
  const auto given = static_cast<std::size_t>(num_positional);
  if (given > num_arguments_) return false;
  if (given < num_arguments_ || names != nullptr) return assign_by_name(args, given, names, state);
  state.passed = args;
  state.constants = default_constants_.data();
  return true;
}

/// Where some arguments come by name or by default.
bool Launcher::assign_by_name(PyObject* const* args, std::size_t given, PyObject* names,
                              CallState& state) const {
  PyObject** all = state.named;
  std::copy_n(args, given, all);
  std::fill(all + given, all + parameters_.size(), nullptr);
  const std::size_t num_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (std::size_t i = 0; i < num_names; ++i) {
    const std::ptrdiff_t index = find(PyTuple_GET_ITEM(names, i), given + i);
    if (index < 0 || all[index] != nullptr) return false;
    all[index] = args[given + i];
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (all[i] == nullptr) all[i] = parameters_[i].default_value.ptr();
    if (all[i] == nullptr && i < num_arguments_) return false;
  }
  state.passed = all;
  state.constants = all + num_arguments_;
  return true;
}

bool Launcher::convert_array(CallParameter& parameter, PyObject* object, CallState& state) {
  CallArguments::One& out = state.arguments.parameters[parameter.index];
  PyTypeObject* type = Py_TYPE(object);
  if (parameter.type.ptr() != reinterpret_cast<PyObject*>(type)) [[unlikely]] {
    if (const WindowObject* window = as_window(object)) {
      if (!window->has_host_view()) return false;
      set_copy_of(*window, out);
      return true;
    }
    parameter.api = exchange_api_of(type);
    parameter.type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type));
  }
  if (parameter.api == nullptr) return convert_other(object, out, state);
  if (parameter.api->tensor_from_object(object, &out.tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  out.read_only = false;
  if (state.api == nullptr) state.api = parameter.api;
  return true;
}

/// Through the other protocols, whose producers may want to know the stream.
bool Launcher::convert_other(PyObject* object, CallArguments::One& out, CallState& state) const {
  state.is_stale = true;
  const int device = forms_.front()->device_index();
  const auto stream = stream_ ? stream_ : current_stream(device, nullptr);
  if (!stream) return false;
  try {
    const auto array = try_read_array(object, "argument", stream, state.owners);
    if (array) set_array(state.arrays.emplace_front(*array), out);
    return array.has_value();
  } catch (const UserError&) {
    return false;  // the fallback says it better
  }
}

bool Launcher::convert(CallState& state) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    CallParameter& parameter = parameters_[i];
    CallArguments::One& out = state.arguments.parameters[parameter.index];
    bool converted = true;
    switch (parameter.kind) {
      case CallParameter::Kind::kWindow:
        out.window = as_window(state.passed[i]);
        converted = out.window != nullptr;
        break;
      case CallParameter::Kind::kTensor:
        converted = convert_array(parameter, state.passed[i], state);
        break;
      case CallParameter::Kind::kScalar:
        converted = convert_scalar(state.passed[i], out, state.owners);
        break;
      case CallParameter::Kind::kConstant:
        break;
    }
    if (!converted) return false;
  }
  return true;
}

/// Asks for the tensors once more: the shapes that they gave live in them.
bool Launcher::refresh(CallState& state) const {
  state.is_stale = false;
  for (std::size_t i = 0; i < num_arguments_; ++i) {
    const CallParameter& parameter = parameters_[i];
    PyObject* object = state.passed[i];
    if (parameter.kind != CallParameter::Kind::kTensor || as_window(object) != nullptr) continue;
    PyTypeObject* type = Py_TYPE(object);
    const bool is_known = parameter.type.ptr() == reinterpret_cast<PyObject*>(type);
    const dlpack::ExchangeApi* api = is_known ? parameter.api : exchange_api_of(type);
    if (api == nullptr) continue;
    if (api->tensor_from_object(object, &state.arguments.parameters[i].tensor) == 0) continue;
    PyErr_Clear();
    return false;
  }
  return true;
}

/// Whether the call was served; false, perhaps with an exception set by the framework whose stream
/// was asked for, where it wasn't.
bool Launcher::launch(PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const Call call(*this);
  CallState state;
  if (!assign(args, num_positional, names, state) || !convert(state)) return false;
  int grid = 0;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const CallForm& form = *forms_[i];
    if (!form.are_identical(state.constants)) {
      state.is_stale = true;
      if (!form.has_constants(state.constants)) continue;
    }
    if (state.is_stale && !refresh(state)) return false;
    if (!form.serves(state.arguments, state.values, grid)) continue;
    const auto stream = stream_ ? stream_ : current_stream(form.device_index(), state.api);
    if (!stream) return false;
    if (i > 0 && i < forms_.size()) std::swap(forms_[0], forms_[i]);
    if (form.waits()) {
      // A full queue blocks until peers' kernels run, which another thread may have to launch.
      const WithoutGil without_gil;
      form.target()->launch(grid, *stream, state.values);
    } else {
      form.target()->launch(grid, *stream, state.values);
    }
    return true;
  }
  return false;
}

}  // namespace tilewire::bindings
