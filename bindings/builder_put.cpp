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
          "multicast",
          [](PythonBuilder& self, Value* window, const std::string& team) {
            return self.multicast(window, team);
          },
          py::return_value_policy::reference_internal, py::arg("window").none(false),
          py::arg("team") = "world", "All copies of a window in the LSA team at once.")
      .def(
          "all_reduce_load",
          [](PythonBuilder& self, Value* view, const std::string& op, const std::string& order,
             const std::string& team) { return self.all_reduce_load(view, {op, order, team}); },
          py::return_value_policy::reference_internal, py::arg("view").none(false),
          py::arg("op") = "add", py::arg("order") = "", py::arg("team") = "")
      .def(
          "reduce_store",
          [](PythonBuilder& self, Value* view, const Operand& value, const std::string& op,
             const std::string& order,
             const std::string& team) { self.reduce_store(view, value, {op, order, team}); },
          py::arg("view").none(false), py::arg("value"), py::arg("op") = "add",
          py::arg("order") = "", py::arg("team") = "");
}

}  // namespace tilewire::bindings
