#include <pybind11/stl.h>
#include <structmember.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/launcher.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

struct LauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Launcher* launcher;
};

LauncherObject* as_launcher(PyObject* self) { return reinterpret_cast<LauncherObject*>(self); }

/// Throws an exception that was caught in a slot of the CPython API, where pybind11 translates it.
PyObject* rethrow_function = nullptr;

void rethrow(const py::capsule& pointer) {
  std::rethrow_exception(*pointer.get_pointer<std::exception_ptr>());
}

void set_python_error(const std::exception_ptr& exception) {
  try {
    std::exception_ptr copy = exception;
    const py::capsule pointer(&copy);
    PyObject* none = PyObject_CallOneArg(rethrow_function, pointer.ptr());
    Py_XDECREF(none);
  } catch (py::error_already_set& error) {
    error.restore();
  }
}

/// The garbage collector breaks cycles before it frees what is in them.
PyObject* raise_collected() {
  PyErr_SetString(PyExc_RuntimeError, "this launcher was collected");
  return nullptr;
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* names) {
  Launcher* launcher = as_launcher(self)->launcher;
  if (launcher == nullptr) return raise_collected();
  try {
    return launcher->call(args, nargsf, names);
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

CallParameter::Kind kind_from(const std::string& text) {
  if (text == "tensor") return CallParameter::Kind::kTensor;
  if (text == "window") return CallParameter::Kind::kWindow;
  if (text == "scalar") return CallParameter::Kind::kScalar;
  if (text == "constant") return CallParameter::Kind::kConstant;
  throw InternalError("a parameter is a tensor, window, scalar or constant, not \"" + text + "\"");
}

std::vector<CallParameter> parameters_from(const py::iterable& tuples) {
  std::vector<CallParameter> parameters;
  for (const py::handle each : tuples) {
    const auto tuple = each.cast<py::tuple>();
    CallParameter parameter;
    PyObject* name = tuple[0].cast<py::str>().release().ptr();
    PyUnicode_InternInPlace(&name);
    parameter.name = py::reinterpret_steal<py::object>(name);
    parameter.kind = kind_from(tuple[1].cast<std::string>());
    if (tuple[2].ptr() != Py_Ellipsis) parameter.default_value = tuple[2];
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::unique_ptr<Launcher> make_launcher(py::object fallback, const py::iterable& parameters,
                                        std::optional<int> grid,
                                        std::optional<std::uintptr_t> stream) {
  return std::make_unique<Launcher>(std::move(fallback), parameters_from(parameters), grid, stream);
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"fallback", "parameters", "grid", "stream", nullptr};
  PyObject* fallback = nullptr;
  PyObject* parameters = nullptr;
  PyObject* grid = Py_None;
  PyObject* stream = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OO|$OO", const_cast<char**>(names), &fallback,
                                  &parameters, &grid, &stream) == 0) {
    return nullptr;
  }
  try {
    auto launcher = make_launcher(py::reinterpret_borrow<py::object>(fallback),
                                  py::reinterpret_borrow<py::iterable>(parameters),
                                  py::handle(grid).cast<std::optional<int>>(),
                                  py::handle(stream).cast<std::optional<std::uintptr_t>>());
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    as_launcher(self)->vectorcall = &vectorcall;
    as_launcher(self)->launcher = launcher.release();
    return self;
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Launcher* launcher = as_launcher(self)->launcher;
  return launcher == nullptr ? 0 : launcher->traverse(visit, arg);
}

int clear(PyObject* self) {
  delete std::exchange(as_launcher(self)->launcher, nullptr);
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

Py_ssize_t length(PyObject* self) {
  const Launcher* launcher = as_launcher(self)->launcher;
  return launcher == nullptr ? 0 : static_cast<Py_ssize_t>(launcher->num_forms());
}

PyObject* add(PyObject* self, PyObject* args) {
  PyObject* target = nullptr;
  PyObject* constants = nullptr;
  PyObject* facts = Py_None;
  if (PyArg_ParseTuple(args, "OO!|O", &target, &PyDict_Type, &constants, &facts) == 0) {
    return nullptr;
  }
  Launcher* launcher = as_launcher(self)->launcher;
  if (launcher == nullptr) return raise_collected();
  try {
    launcher->add(py::handle(target).cast<std::shared_ptr<LaunchTarget>>(),
                  py::reinterpret_borrow<py::dict>(constants),
                  py::handle(facts).cast<std::optional<LocalFacts>>());
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"add", &add, METH_VARARGS,
     "add(target, constants, facts=None): serve calls through this LaunchTarget, whose `tw.const` "
     "parameters have these values; only calls whose arguments have these LocalFacts, if any."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

char documentation[] =
    "Launcher(fallback, parameters, *, grid=None, stream=None)\n\nLaunches a kernel from C++ alone "
    "where one of its compiled forms serves the arguments; calls `fallback` with the same "
    "arguments where none does.";

PyType_Slot slots[] = {
    {Py_tp_doc, documentation},
    {Py_tp_new, reinterpret_cast<void*>(&create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
    {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_sq_length, reinterpret_cast<void*>(&length)},
    {0, nullptr},
};

PyType_Spec specification = {"tilewire._tilewire.Launcher", sizeof(LauncherObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                             slots};

}  // namespace

void bind_launcher(py::module_& module) {
  PyObject* type = PyType_FromSpec(&specification);
  if (type == nullptr) throw py::error_already_set();
  module.add_object("Launcher", py::reinterpret_steal<py::object>(type));
  rethrow_function = py::cpp_function(&rethrow).release().ptr();
  module.def(
      "hold_launches", &Launcher::hold_calls, py::arg("held"),
      "Whether all launches of this thread go to their launchers' fallbacks, also those that "
      "a form serves; returns what was said before.");
}

}  // namespace tilewire::bindings
