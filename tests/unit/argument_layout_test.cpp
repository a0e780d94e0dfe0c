#include "runtime/driver/argument_layout.h"

#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

using Kind = ArgumentSlot::Kind;

Parameter parameter(Parameter::Kind kind, DType dtype) {
  Parameter parameter;
  parameter.kind = kind;
  parameter.dtype = dtype;
  return parameter;
}

Artifact kernel_with(std::vector<ArgumentSlot> arguments) {
  Artifact artifact;
  artifact.kernel = "k";
  artifact.parameters = {parameter(Parameter::Kind::kTensor, DType::kBF16),
                         parameter(Parameter::Kind::kWindow, DType::kBF16),
                         parameter(Parameter::Kind::kScalar, DType::kF32),
                         parameter(Parameter::Kind::kScalar, DType::kBool),
                         parameter(Parameter::Kind::kScalar, DType::kF64)};
  artifact.dimensions = {"T"};
  artifact.tensor_maps.resize(1);
  artifact.arguments = std::move(arguments);
  return artifact;
}

/// What the device's compiler makes of the same parameters, in order.
struct Reference {
  void* tensor;
  device::WindowHandle window;
  float scale;
  bool flag;
  double factor;
  std::int64_t extent;
  struct alignas(8) {
    char bytes[200];
  } device_comm;
  device::Lane lane;
  char flag_behind;
  device::TensorMap map;
};

}  // namespace

TEST_CASE("arguments lie where a struct of them would have its fields") {
  const Artifact artifact = kernel_with({{Kind::kTensor, 0, 0},
                                         {Kind::kWindow, 1, 0},
                                         {Kind::kScalar, 2, 0},
                                         {Kind::kScalar, 3, 0},
                                         {Kind::kScalar, 4, 0},
                                         {Kind::kExtent, 0, 0},
                                         {Kind::kDeviceComm, 0, 0},
                                         {Kind::kLane, 0, 0},
                                         {Kind::kScalar, 3, 0},
                                         {Kind::kTensorMap, 0, 0}});
  const ArgumentLayout layout = ArgumentLayout::of(artifact, 200);
  const std::vector<std::size_t> offsets = {
      offsetof(Reference, tensor),      offsetof(Reference, window),
      offsetof(Reference, scale),       offsetof(Reference, flag),
      offsetof(Reference, factor),      offsetof(Reference, extent),
      offsetof(Reference, device_comm), offsetof(Reference, lane),
      offsetof(Reference, flag_behind), offsetof(Reference, map)};
  const std::vector<std::size_t> sizes = {8, 40, 4, 1, 8, 8, 200, sizeof(device::Lane), 1, 128};
  REQUIRE(layout.slots.size() == offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    CAPTURE(i);
    CHECK(layout.slots[i].offset == offsets[i]);
    CHECK(layout.slots[i].size == sizes[i]);
  }
  CHECK(layout.num_bytes == sizeof(Reference));
}

TEST_CASE("small scalars pack as in a struct") {
  const Artifact artifact = kernel_with(
      {{Kind::kScalar, 3, 0}, {Kind::kScalar, 3, 0}, {Kind::kScalar, 2, 0}, {Kind::kStride, 0, 1}});
  const ArgumentLayout layout = ArgumentLayout::of(artifact, 0);
  CHECK(layout.slots[1].offset == 1);
  CHECK(layout.slots[2].offset == 4);
  CHECK(layout.slots[3].offset == 8);
  CHECK(layout.num_bytes == 16);
}

TEST_CASE("an argument's value begins where its union does") {
  ArgumentValue value;
  CHECK(static_cast<void*>(&value.pointer) == static_cast<void*>(&value));
  CHECK(static_cast<void*>(&value.window) == static_cast<void*>(&value));
  CHECK(static_cast<void*>(&value.scalar) == static_cast<void*>(&value));
  CHECK(static_cast<void*>(&value.integer) == static_cast<void*>(&value));
}

TEST_CASE("a kernel that communicates needs a world with a device communicator") {
  for (const Kind kind : {Kind::kDeviceComm, Kind::kLane}) {
    CHECK_THROWS_WITH(ArgumentLayout::of(kernel_with({{kind, 0, 0}}), 0),
                      "kernel `k` communicates, but it is loaded for a world without a device "
                      "communicator");
  }
  CHECK_THROWS_AS(ArgumentLayout::of(kernel_with({{Kind::kTensor, 9, 0}}), 0), InternalError);
  CHECK_THROWS_AS(ArgumentLayout::of(kernel_with({{Kind::kTensorMap, 1, 0}}), 0), InternalError);
}

}  // namespace tilewire
