#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/call_form.h"

namespace tilewire::bindings {

inline constexpr std::size_t kMaxCallParameters = 64;  ///< constants included

/// A parameter of the user's function.
struct CallParameter {
  enum class Kind : std::uint8_t {
    kTensor,
    kWindow,
    kScalar,
    kConstant
  };  ///< kWindow: objects too
  pybind11::object name;  ///< interned, so that names mostly compare by address
  Kind kind = Kind::kTensor;
  pybind11::object default_value;  ///< null: none
  std::size_t index = 0;           ///< among the artifact's parameters, or among the constants
  /// The type seen last, with what was found for it. It is kept, so that no other type can get the
  /// same address.
  pybind11::object type;
  const dlpack::ExchangeApi* api = nullptr;
};

/// What is behind the Python type `Launcher`: see `bind_launcher`.
class Launcher {
 public:
  Launcher(pybind11::object fallback, std::vector<CallParameter> parameters,
           std::optional<int> grid, std::optional<std::uintptr_t> stream);

  /// CPython's vectorcall. Launches where a form serves the call, else calls the fallback. Throws
  /// what a launch threw.
  PyObject* call(PyObject* const* args, std::size_t nargsf, PyObject* names);

  /// See `launcher.add`.
  void add(std::shared_ptr<LaunchTarget> target, const pybind11::dict& constants,
           std::optional<LocalFacts> facts);
  std::size_t num_forms() const { return forms_.size(); }

  /// Whether this thread's calls all go to their fallbacks; returns what was said before.
  static bool hold_calls(bool held);
  int traverse(visitproc visit, void* arg) const;

 private:
  struct CallState;
  class Call;
  bool launch(PyObject* const* args, Py_ssize_t num_positional, PyObject* names);
  bool assign(PyObject* const* args, Py_ssize_t num_positional, PyObject* names,
              CallState& state) const;
  bool assign_by_name(PyObject* const* args, std::size_t given, PyObject* names,
                      CallState& state) const;
  bool convert(CallState& state);
  bool convert_array(CallParameter& parameter, PyObject* object, CallState& state);
  bool convert_other(PyObject* object, CallArguments::One& out, CallState& state) const;
  bool refresh(CallState& state) const;
  std::ptrdiff_t find(PyObject* name, std::size_t hint) const;

  pybind11::object fallback_;
  std::vector<CallParameter> parameters_;
  std::optional<int> grid_;
  std::optional<std::uintptr_t> stream_;
  std::size_t num_arguments_ = 0;
  std::size_t num_constants_ = 0;
  std::vector<PyObject*> default_constants_;        ///< null: none
  std::vector<std::shared_ptr<CallForm>> forms_;    ///< the one that served last comes first
  std::vector<std::shared_ptr<CallForm>> dropped_;  ///< what a call under way may still use
  int num_calls_ = 0;                               ///< under way; guarded by the GIL, as the rest
};

/// Adds `Launcher` to the module, a type of the CPython API with vectorcall: what `kernel[grid]`
/// gives for a GPU.
///
/// `Launcher(fallback, parameters, *, grid=None, stream=None)`.
/// `parameters`: a tuple per parameter of the user's function, in order: (name, kind, default) with
/// kind `"tensor"`, `"window"` (arrays of synchronisation objects too), `"scalar"` or `"constant"`,
/// and `...` where there is no default.
/// Constants come last and are passed by name, the others by position or by name. A constant
/// without a default may be left out: it was inferred from a shape, which is checked instead.
/// `grid`: an int; None: `tw.auto`. `stream`: the handle to launch on; None: the framework's
/// current one at each call.
///
/// `launcher.add(target, constants, facts=None)` tells it of a compiled form; `constants` is a dict
/// with the value of every `tw.const` parameter. `facts`: those of the arguments that it was chosen
/// for, so that other ones get a form of their own; None: it serves all that the artifact is right
/// for. `len(launcher)` is the number of forms kept. A call whose
/// arguments a form serves (dtypes, ranks, static extents, facts, constants, device, communicator)
/// launches from C++ alone; every other call goes to `fallback(*args, **kwargs)`, which compiles,
/// adds and launches, or raises. The form that served last is tried first.
void bind_launcher(pybind11::module_& module);

}  // namespace tilewire::bindings
