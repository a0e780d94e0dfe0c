#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "bindings/signature.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// An argument together with what keeps its memory readable.
struct ReadArgument {
  Argument argument;
  Owners owners;
};

const ArrayArgument& array_of(const ReadArgument& self) {
  if (self.argument.kind == Argument::Kind::kScalar) {
    throw UserError("a scalar argument has no dtype, shape or device of its own");
  }
  return self.argument.array;
}

std::string_view kind_of(const ReadArgument& self) {
  switch (self.argument.kind) {
    case Argument::Kind::kArray:
      return "array";
    case Argument::Kind::kWindow:
      return name_of(self.argument.window->kind);
    case Argument::Kind::kScalar:
      return "scalar";
  }
  return "";
}

py::tuple to_tuple(const std::int64_t* values, int count) {
  return py::tuple(py::cast(std::vector<std::int64_t>(values, values + count)));
}

void bind_argument(py::module_& module) {
  py::class_<ReadArgument>(
      module, "Argument",
      "One argument of a call. `kind` is \"window\", \"semaphore\", \"flag\", \"channel\", "
      "\"array\" or \"scalar\"; a scalar has only "
      "`kind` and `object`.")
      .def_property_readonly("kind", &kind_of)
      .def_property_readonly("object",
                             [](const ReadArgument& self) { return self.argument.object; })
      .def_property_readonly("dtype", [](const ReadArgument& self) { return array_of(self).dtype; })
      .def_property_readonly("shape",
                             [](const ReadArgument& self) {
                               return to_tuple(array_of(self).shape, array_of(self).rank);
                             })
      .def_property_readonly(
          "strides",
          [](const ReadArgument& self) {
            return to_tuple(array_of(self).strides, array_of(self).rank);
          },
          "In elements.")
      .def_property_readonly(
          "device", [](const ReadArgument& self) { return array_of(self).device.to_string(); },
          "\"cpu\", \"cuda:0\", or \"cuda\" where the producer doesn't say which.")
      .def_property_readonly("address",
                             [](const ReadArgument& self) {
                               return reinterpret_cast<std::uintptr_t>(array_of(self).data);
                             })
      .def_property_readonly("read_only",
                             [](const ReadArgument& self) { return array_of(self).read_only; })
      .def_property_readonly(
          "contiguous", [](const ReadArgument& self) { return array_of(self).is_contiguous(); })
      .def_property_readonly("alignment",
                             [](const ReadArgument& self) { return array_of(self).alignment(); });
}

void bind_facts(py::module_& module) {
  py::class_<LocalFacts>(
      module, "LocalFacts",
      "What is known about a launch's arguments on this rank only: per parameter, whether it is "
      "contiguous and row-major, how its address is aligned (1, 2, 4, 8 or 16 bytes), whether it "
      "is GPU memory in no window, which no peer reaches, and whether a tensor map can describe "
      "it. An empty list says nothing.")
      .def(py::init<>())
      .def(py::init([](std::vector<bool> contiguous, std::vector<int> alignment,
                       std::vector<bool> local_only, std::vector<bool> mappable) {
             return LocalFacts{std::move(contiguous), std::move(alignment), std::move(local_only),
                               std::move(mappable)};
           }),
           py::arg("contiguous"), py::arg("alignment"), py::arg("local_only"),
           py::arg("mappable") = std::vector<bool>())
      .def_readonly("contiguous", &LocalFacts::contiguous)
      .def_readonly("alignment", &LocalFacts::alignment)
      .def_readonly("local_only", &LocalFacts::local_only)
      .def_readonly("mappable", &LocalFacts::mappable)
      .def(
          "without_maps",
          [](LocalFacts self) {
            self.mappable.clear();
            return self;
          },
          "The same without a word on what tensor maps can describe.")
      .def("__eq__", [](const LocalFacts& a, const LocalFacts& b) { return a == b; })
      .def("__hash__", [](const LocalFacts& self) {
        return py::hash(py::make_tuple(
            py::tuple(py::cast(self.contiguous)), py::tuple(py::cast(self.alignment)),
            py::tuple(py::cast(self.local_only)), py::tuple(py::cast(self.mappable))));
      });
}

}  // namespace

void bind_signature(py::module_& module) {
  bind_argument(module);
  bind_facts(module);
  module.def(
      "read_argument",
      [](py::object object, const std::string& what, std::optional<std::uintptr_t> stream) {
        ReadArgument read;
        read.argument = read_argument(std::move(object), what, stream, read.owners);
        return read;
      },
      py::arg("object"), py::arg("what"), py::arg("stream") = py::none(),
      "Reads an argument of a call as what it is: window, array (PyTorch, NumPy, CuPy, anything "
      "with DLPack, the buffer protocol or `__cuda_array_interface__`) or scalar. `what` stands in "
      "front of messages: \"kernel `f`: argument `x`\". `stream`: handle of the CUDA stream on "
      "which it will be used. UserError where it is none of these.");
  module.def(
      "facts_of",
      [](const std::vector<const ReadArgument*>& arguments) {
        std::vector<Argument> plain;
        for (const ReadArgument* each : arguments) plain.push_back(each->argument);
        return facts_of(plain);
      },
      py::arg("arguments"),
      "LocalFacts of arguments in the order of a program's parameters (without `tw.const` ones).");
  module.def(
      "scalar_bits",
      [](const py::object& object, DType dtype, const std::string& what) {
        return read_scalar(object.ptr(), dtype, what);
      },
      py::arg("object"), py::arg("dtype"), py::arg("what"),
      "A number as the bits of `dtype`. UserError where it doesn't fit or isn't one.");
}

}  // namespace tilewire::bindings
