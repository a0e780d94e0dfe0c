#include <pybind11/pybind11.h>

#include "bindings/bindings.h"

PYBIND11_MODULE(_tilewire, module) {
  module.doc() = "The C++ side of tilewire.";
  module.attr("__version__") = TILEWIRE_VERSION;
  tilewire::bindings::bind_errors(module);
  tilewire::bindings::bind_types(module);
  tilewire::bindings::bind_objects(module);
  tilewire::bindings::bind_copies(module);
  tilewire::bindings::bind_program(module);
  tilewire::bindings::bind_builder(module);
  tilewire::bindings::bind_compile(module);
  tilewire::bindings::bind_launch(module);
  tilewire::bindings::bind_environment(module);
  tilewire::bindings::bind_virtual_world(module);
  tilewire::bindings::bind_gpu_device(module);
  tilewire::bindings::bind_gpu_world(module);
}
