#include "bindings/cpu_arguments.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <bit>
#include <utility>

#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

std::uint64_t slot_of(const ArgumentSlot& slot, const BoundArguments& bound) {
  const auto index = static_cast<std::size_t>(slot.index);
  switch (slot.kind) {
    case ArgumentSlot::Kind::kTensor:
      return reinterpret_cast<std::uintptr_t>(bound.arguments.at(index).array.data);
    case ArgumentSlot::Kind::kWindow:
      return reinterpret_cast<std::uintptr_t>(bound.arguments.at(index).window->copies.data());
    case ArgumentSlot::Kind::kScalar:
      return bound.scalars.at(index);
    case ArgumentSlot::Kind::kExtent:
      return std::bit_cast<std::uint64_t>(bound.dimensions.at(index));
    case ArgumentSlot::Kind::kStride:
      return std::bit_cast<std::uint64_t>(bound.arguments.at(index).array.strides[slot.dimension]);
    case ArgumentSlot::Kind::kDeviceComm:
    case ArgumentSlot::Kind::kLane:
    case ArgumentSlot::Kind::kCounters:
    case ArgumentSlot::Kind::kTensorMap:
      return 0;  // the CPU's lane and counters belong to the launch
  }
  throw InternalError("an argument slot of an unknown kind");
}

}  // namespace

CpuArguments pack_cpu_arguments(const Artifact& artifact, const std::vector<py::object>& values) {
  CpuArguments packed;
  packed.bound = bind_arguments(artifact.kernel, artifact.parameters, artifact.dimensions,
                                artifact.written, artifact.target, values, std::nullopt);
  if (!satisfies(packed.bound.facts, artifact.facts)) {
    throw InternalError(fmt::format(
        "kernel `{}` was compiled for arguments of other strides or alignment", artifact.kernel));
  }
  packed.slots.reserve(artifact.arguments.size());
  for (const ArgumentSlot& slot : artifact.arguments) {
    packed.slots.push_back(slot_of(slot, packed.bound));
  }
  return packed;
}

void bind_cpu_arguments(py::module_& module) {
  py::class_<CpuArguments, std::shared_ptr<CpuArguments>>(
      module, "CpuArguments", "A call's arguments as a CPU kernel takes them; keeps them alive.")
      .def_readonly("slots", &CpuArguments::slots)
      .def_property_readonly("address",
                             [](const CpuArguments& self) {
                               return reinterpret_cast<std::uintptr_t>(self.slots.data());
                             })
      .def_property_readonly("dimensions",
                             [](const CpuArguments& self) { return self.bound.dimensions; })
      .def_property_readonly("facts", [](const CpuArguments& self) { return self.bound.facts; });
  module.def(
      "pack_cpu_arguments", &pack_cpu_arguments, py::arg("artifact"), py::arg("values"),
      "Binds `values` (in the order of the artifact's parameters) and packs them, one 64-bit "
      "word per slot of the artifact. UserError names kernel, argument, what was found and "
      "what was expected.");
}

}  // namespace tilewire::bindings
