#include <pybind11/pybind11.h>

PYBIND11_MODULE(_tilewire, module) {
  module.doc() = "The C++ side of tilewire.";
  module.attr("__version__") = TILEWIRE_VERSION;
}
