#include <string>

#include "bindings/bindings.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// Raises the Python exception `tilewire.errors.<name>`, which shows the user's line with a caret
/// under the column where the location is known.
void raise(const char* name, const Error& error) {
  const SourceLocation& location = error.location();
  py::object type = py::module_::import("tilewire.errors").attr(name);
  py::object exception = type(error.message(), location.file, location.line, location.column);
  PyErr_SetObject(type.ptr(), exception.ptr());
}

}  // namespace

void bind_errors(py::module_& /*module*/) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const UserError& error) {
      raise("UserError", error);
    } catch (const BackendError& error) {
      raise("BackendError", error);
    } catch (const HangError& error) {
      raise("HangError", error);
    } catch (const DeviceAssertionError& error) {
      raise("DeviceAssertionError", error);
    } catch (const InternalError& error) {
      raise("InternalError", error);
    }
  });
}

}  // namespace tilewire::bindings
