#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include <string>

#include "bindings/bindings.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/type.h"
#include "compiler/jit/target.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

void bind_dtype(py::module_& module) {
  py::enum_<DType> dtype(module, "DType", "An element type: `tw.bf16`, `tw.f32`, …");
  for (DType each : all_dtypes()) dtype.value(std::string(name_of(each)).c_str(), each);
  dtype.def_property_readonly("num_bytes", [](DType self) { return num_bytes(self); })
      .def_property_readonly("is_float", [](DType self) { return is_float(self); })
      .def_property_readonly("is_integer", [](DType self) { return is_integer(self); })
      .def_property_readonly("is_signed", [](DType self) { return is_signed(self); });
  const auto text = [](DType self) { return "tw." + std::string(name_of(self)); };
  dtype.attr("__repr__") = py::cpp_function(text, py::is_method(dtype));
  dtype.attr("__str__") = py::cpp_function(text, py::is_method(dtype));
  module.def("all_dtypes", [] { return all_dtypes(); });
  module.def("common_dtype", &common_dtype);
}

void bind_type(py::module_& module) {
  py::class_<Type>(module, "Type", "The type of an IR value: scalar, tile, view or pointer.")
      .def_readonly("dtype", &Type::dtype)
      .def_readonly("shape", &Type::shape)
      .def_property_readonly("rank", &Type::rank)
      .def_property_readonly("is_scalar", &Type::is_scalar)
      .def_property_readonly("is_tile", &Type::is_tile)
      .def_property_readonly("is_view", &Type::is_view)
      .def_property_readonly("is_window",
                             [](const Type& self) { return self.memory == Memory::kWindow; })
      .def_property_readonly("is_object", &Type::is_object,
                             "A view of synchronisation objects: `memory` says which.")
      .def_property_readonly("memory", [](const Type& self) { return name_of(self.memory); })
      .def("__str__", &Type::to_string)
      .def("__repr__", &Type::to_string);
  module.attr("kDynamic") = kDynamic;
}

void bind_target(py::module_& module) {
  py::class_<Target>(module, "Target", "What code is specialised for; never the rank.")
      .def(py::init(&Target::parse), py::arg("text"))
      .def_readonly("architecture", &Target::architecture)
      .def_readonly("compute_capability", &Target::compute_capability)
      .def_readonly("world_size", &Target::world_size)
      .def_readonly("lsa_size", &Target::lsa_size)
      .def_readonly("multimem", &Target::multimem)
      .def_readonly("gin", &Target::gin)
      .def_property_readonly("is_cuda", &Target::is_cuda)
      .def(py::self == py::self)
      .def("__hash__",
           [](const Target& self) { return std::hash<std::string>()(self.to_string()); })
      .def("__str__", &Target::to_string)
      .def("__repr__", [](const Target& self) { return "Target('" + self.to_string() + "')"; });
}

}  // namespace

void bind_types(py::module_& module) {
  bind_dtype(module);
  bind_type(module);
  bind_target(module);
}

}  // namespace tilewire::bindings
