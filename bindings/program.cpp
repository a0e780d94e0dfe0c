#include <pybind11/stl.h>

#include <string>

#include "bindings/bindings.h"
#include "bindings/casters.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/facts.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

const char* name_of(AttributeSpec::Kind kind) {
  switch (kind) {
    case AttributeSpec::Kind::kInteger:
      return "integer";
    case AttributeSpec::Kind::kFloat:
      return "float";
    case AttributeSpec::Kind::kBool:
      return "bool";
    case AttributeSpec::Kind::kText:
      return "text";
    case AttributeSpec::Kind::kDType:
      return "dtype";
    case AttributeSpec::Kind::kIntegers:
      return "integers";
    case AttributeSpec::Kind::kAny:
      return "any";
  }
  return "";
}

const char* name_of(Effect effect) {
  switch (effect) {
    case Effect::kPure:
      return "pure";
    case Effect::kReads:
      return "reads";
    case Effect::kWrites:
      return "writes";
    case Effect::kHidden:
      return "hidden";
    case Effect::kSynchronises:
      return "synchronises";
    case Effect::kReports:
      return "reports";
  }
  return "";
}

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::kAny:
      return "any";
    case Stage::kFrontend:
      return "frontend";
    case Stage::kLowered:
      return "lowered";
  }
  return "";
}

void bind_op_table(py::module_& module) {
  py::class_<AttributeSpec>(module, "AttributeSpec")
      .def_property_readonly("name", [](const AttributeSpec& self) { return self.name; })
      .def_property_readonly("kind", [](const AttributeSpec& self) { return name_of(self.kind); })
      .def_readonly("required", &AttributeSpec::required)
      .def_property_readonly("meaning", [](const AttributeSpec& self) { return self.meaning; });
  py::class_<OpInfo>(module, "OpInfo", "One entry of the op table.")
      .def_property_readonly("name", [](const OpInfo& self) { return self.name; })
      .def_property_readonly("summary", [](const OpInfo& self) { return self.summary; })
      .def_readonly("min_operands", &OpInfo::min_operands)
      .def_readonly("max_operands", &OpInfo::max_operands)
      .def_readonly("attributes", &OpInfo::attributes)
      .def_property_readonly("effect", [](const OpInfo& self) { return name_of(self.effect); })
      .def_property_readonly("stage", [](const OpInfo& self) { return name_of(self.stage); });
  module.def("op_table", [] {
    py::list ops;
    for (const OpInfo& info : op_table()) {
      ops.append(py::cast(&info, py::return_value_policy::reference));
    }
    return ops;
  });
}

}  // namespace

const Program& PythonProgram::get() const {
  if (!program_) throw UserError("this program was compiled already, which uses it up");
  return *program_;
}

Program PythonProgram::take() {
  get();
  Program taken = std::move(*program_);
  program_.reset();
  return taken;
}

void PythonProgram::set_facts(LocalFacts facts) {
  get();
  program_->facts = std::move(facts);
}

void PythonProgram::assume_ordinary_facts() { program_->facts = ordinary_facts(get()); }

void bind_program(py::module_& module) {
  py::class_<Dimension>(module, "Dimension")
      .def(py::init([](std::int64_t size) { return Dimension{size, {}}; }), py::arg("size"))
      .def(py::init([](std::string name) { return Dimension{kDynamic, std::move(name)}; }),
           py::arg("name"))
      .def_readonly("size", &Dimension::size)
      .def_readonly("name", &Dimension::name);
  py::class_<PythonProgram, ProgramPtr>(
      module, "Program", "A verified program, for one signature. Compiling uses it up.")
      .def_property_readonly("name", [](const PythonProgram& self) { return self.get().name; })
      .def_property_readonly("constants",
                             [](const PythonProgram& self) { return self.get().constants; })
      .def(
          "text",
          [](const PythonProgram& self, bool locations) { return print(self.get(), {locations}); },
          py::arg("locations") = true, "IR text; it parses back.")
      .def("set_facts", &PythonProgram::set_facts, py::arg("facts"),
           "What is known about the arguments on this rank; before compiling.")
      .def("assume_ordinary_facts", &PythonProgram::assume_ordinary_facts,
           "Those that a launch finds out about contiguous arrays of any framework.")
      .def(
          "depends_on_maps",
          [](const PythonProgram& self, const Target& target) {
            return depends_on_maps(self.get(), target);
          },
          py::arg("target"), "Whether `LocalFacts.mappable` can make a difference to the code.")
      .def("__str__", [](const PythonProgram& self) { return print(self.get()); });
  module.def(
      "parse_program",
      [](const std::string& text) { return std::make_shared<PythonProgram>(parse_program(text)); },
      py::arg("text"));
  bind_op_table(module);
}

}  // namespace tilewire::bindings
