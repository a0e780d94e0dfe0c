#include "runtime/driver/argument_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/dtype.h"
#include "compiler/support/error.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire {
namespace {

constexpr std::size_t kWord = 8;

const Parameter& parameter_of(const Artifact& artifact, const ArgumentSlot& slot) {
  if (slot.index < 0 || static_cast<std::size_t>(slot.index) >= artifact.parameters.size()) {
    throw InternalError(fmt::format("kernel `{}`: an argument names parameter {} of {}",
                                    artifact.kernel, slot.index, artifact.parameters.size()));
  }
  return artifact.parameters[slot.index];
}

void require_world(const Artifact& artifact, std::size_t device_comm_bytes) {
  if (device_comm_bytes != 0) return;
  throw InternalError(fmt::format(
      "kernel `{}` communicates, but it is loaded for a world without a device communicator",
      artifact.kernel));
}

/// Size and alignment; the offset comes from the slots before.
ArgumentLayout::Slot shape_of(const Artifact& artifact, const ArgumentSlot& slot,
                              std::size_t device_comm_bytes) {
  switch (slot.kind) {
    case ArgumentSlot::Kind::kTensor:
    case ArgumentSlot::Kind::kStride:
      parameter_of(artifact, slot);
      return {.offset = 0, .size = kWord, .alignment = kWord};
    case ArgumentSlot::Kind::kExtent:
    case ArgumentSlot::Kind::kCounters:
      return {.offset = 0, .size = kWord, .alignment = kWord};
    case ArgumentSlot::Kind::kWindow:
      parameter_of(artifact, slot);
      return {.offset = 0,
              .size = sizeof(device::WindowHandle),
              .alignment = alignof(device::WindowHandle)};
    case ArgumentSlot::Kind::kScalar: {
      const auto size = static_cast<std::size_t>(num_bytes(parameter_of(artifact, slot).dtype));
      return {.offset = 0, .size = size, .alignment = size};
    }
    case ArgumentSlot::Kind::kDeviceComm:
      require_world(artifact, device_comm_bytes);
      return {.offset = 0, .size = device_comm_bytes, .alignment = kWord};
    case ArgumentSlot::Kind::kLane:
      require_world(artifact, device_comm_bytes);
      return {.offset = 0, .size = sizeof(device::Lane), .alignment = alignof(device::Lane)};
    case ArgumentSlot::Kind::kTensorMap:
      if (slot.index < 0 || static_cast<std::size_t>(slot.index) >= artifact.tensor_maps.size()) {
        throw InternalError(fmt::format("kernel `{}`: an argument names tensor map {} of {}",
                                        artifact.kernel, slot.index, artifact.tensor_maps.size()));
      }
      return {
          .offset = 0, .size = sizeof(device::TensorMap), .alignment = alignof(device::TensorMap)};
  }
  throw InternalError("an argument slot of unknown kind");
}

}  // namespace

ArgumentLayout ArgumentLayout::of(const Artifact& artifact, std::size_t device_comm_bytes) {
  ArgumentLayout layout;
  for (const ArgumentSlot& argument : artifact.arguments) {
    Slot slot = shape_of(artifact, argument, device_comm_bytes);
    slot.offset = (layout.num_bytes + slot.alignment - 1) / slot.alignment * slot.alignment;
    layout.num_bytes = slot.offset + slot.size;
    layout.slots.push_back(slot);
  }
  return layout;
}

}  // namespace tilewire
