#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "bindings/signature.h"
#include "compiler/jit/artifact.h"

namespace tilewire::bindings {

/// Arguments in the form that CPU kernels take: one 64-bit word per `Artifact::arguments` slot.
/// kTensor: the address. kWindow: the address of the array with every rank's base address.
/// kScalar: the dtype's bits, zero-extended. kExtent, kStride: the integer.
struct CpuArguments {
  std::vector<std::uint64_t> slots;
  BoundArguments bound;  ///< keeps what the addresses point to
};

/// Binds `values` to the artifact's parameters and packs them. UserError as `bind_arguments`;
/// InternalError where the artifact assumes facts that these arguments haven't got.
CpuArguments pack_cpu_arguments(const Artifact& artifact,
                                const std::vector<pybind11::object>& values);

/// Adds `pack_cpu_arguments` and `CpuArguments` (`slots` as a list, `address`, `dimensions`).
void bind_cpu_arguments(pybind11::module_& module);

}  // namespace tilewire::bindings
