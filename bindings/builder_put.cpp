#include <pybind11/stl.h>

#include <string>

#include "bindings/casters.h"
#include "bindings/python_builder.h"

namespace py = pybind11;

namespace tilewire::bindings {

void bind_builder_put(BuilderClass& builder) {
  builder
      .def("put", &Builder::put, py::arg("view").none(false), py::arg("source"),
           "A tile, or what a view holds, to a view of its shape at any rank.")
      .def("put_value", &Builder::put_value, py::arg("view").none(false), py::arg("value"))
      .def("get", &Builder::get, py::arg("view").none(false), py::arg("source").none(false),
           "What a view at any rank holds, to a view of its shape.")
      .def("flush", &Builder::flush)
      .def("accumulate", &Builder::accumulate, py::arg("view").none(false), py::arg("value"))
      .def(
          "all_reduce_load",
          [](PythonBuilder& self, Value* view, const std::string& order, const std::string& team) {
            return self.all_reduce_load(view, order, team);
          },
          py::return_value_policy::reference_internal, py::arg("view").none(false),
          py::arg("order") = "rank", py::arg("team") = "world")
      .def(
          "reduce_store",
          [](PythonBuilder& self, Value* view, const Operand& value, const std::string& order,
             const std::string& team) { self.reduce_store(view, value, order, team); },
          py::arg("view").none(false), py::arg("value"), py::arg("order") = "any",
          py::arg("team") = "world");
}

}  // namespace tilewire::bindings
