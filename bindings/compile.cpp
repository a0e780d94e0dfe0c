#include "compiler/jit/compile.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "compiler/jit/cuda_compiler.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

std::vector<std::pair<std::string, int>> deciding_inputs(const Artifact& artifact) {
  std::vector<std::pair<std::string, int>> inputs;
  for (const int index : artifact.protocol.slots) {
    const ArgumentSlot& slot = artifact.arguments.at(index);
    const bool is_extent = slot.kind == ArgumentSlot::Kind::kExtent;
    inputs.emplace_back(
        is_extent ? artifact.dimensions.at(slot.index) : artifact.parameters.at(slot.index).name,
        index);
  }
  return inputs;
}

void bind_artifact(py::module_& module) {
  py::class_<Resources>(module, "Resources", "What a kernel needs of its communicator.")
      .def_readonly("lane", &Resources::lane)
      .def_readonly("world_barrier", &Resources::world_barrier)
      .def_readonly("waits", &Resources::waits)
      .def_readonly("grid_barrier", &Resources::grid_barrier)
      .def_readonly("two_sided", &Resources::two_sided)
      .def_readonly("network", &Resources::network)
      .def_readonly("peer_atomics", &Resources::peer_atomics)
      .def_readonly("staging_bytes", &Resources::staging_bytes)
      .def_readonly("multimem", &Resources::multimem);
  py::class_<Artifact, std::shared_ptr<Artifact>>(module, "Artifact",
                                                  "What the compiler hands the runtime.")
      .def_readonly("kernel", &Artifact::kernel)
      .def_readonly("entry", &Artifact::entry)
      .def_readonly("target", &Artifact::target)
      .def_readonly("source", &Artifact::source)
      .def_property_readonly("binary", [](const Artifact& self) { return py::bytes(self.binary); })
      .def_property_readonly("num_binary_bytes",
                             [](const Artifact& self) { return self.binary.size(); })
      .def_readonly("dimensions", &Artifact::dimensions)
      .def_readonly("written", &Artifact::written)
      .def_readonly("resources", &Artifact::resources)
      .def_property_readonly("deciding_inputs", &deciding_inputs,
                             "(name, slot) of the run-time integers on which it depends how often "
                             "ranks meet.")
      .def_property_readonly("num_threads",
                             [](const Artifact& self) { return self.launch.num_threads; })
      .def("to_json", [](const Artifact& self) { return to_json(self); });
  py::class_<CompileReport>(module, "CompileReport", "How an artifact came to be.")
      .def_readonly("lower_ms", &CompileReport::lower_ms)
      .def_readonly("compile_ms", &CompileReport::compile_ms)
      .def_readonly("from_memory", &CompileReport::from_memory)
      .def_readonly("from_disk", &CompileReport::from_disk)
      .def_readonly("source_path", &CompileReport::source_path)
      .def_readonly("key", &CompileReport::key);
}

}  // namespace

void bind_compile(py::module_& module) {
  bind_artifact(module);
  module.def(
      "compile",
      [](PythonProgram& python_program, const Target& target) {
        Program program = python_program.take();
        CompileReport report;
        std::shared_ptr<Artifact> artifact;
        {
          const py::gil_scoped_release release;
          artifact = std::make_shared<Artifact>(compile(std::move(program), target, &report));
        }
        return std::pair(std::move(artifact), report);
      },
      py::arg("program"), py::arg("target"), "Machine code; uses the program up.");
  module.def(
      "emit_stage",
      [](PythonProgram& python_program, const Target& target, const std::string& stage) {
        Program program = python_program.take();
        std::string text;
        {
          const py::gil_scoped_release release;
          text = emit_stage(std::move(program), target, stage);
        }
        return py::bytes(text);
      },
      py::arg("program"), py::arg("target"), py::arg("stage"),
      "One stage of the way; uses the program up.");
  module.def(
      "ptx_of",
      [](const std::string& source, const std::string& name, const std::string& architecture) {
        const bool has_gin = source.find("tilewire/network") != std::string::npos;
        const py::gil_scoped_release release;
        return CudaJob::of(source, name, architecture, has_gin ? NcclForm::kFull : NcclForm::kSlim)
            .compile()
            .ptx;
      },
      py::arg("source"), py::arg("name"), py::arg("architecture"),
      "The PTX of a generated text, for tests.");
  module.def(
      "network_has_get", [] { return NcclHeaders::find()->has_network_get(); },
      "Whether kernels can read other ranks' memory over the network with this NCCL.");
}

}  // namespace tilewire::bindings
