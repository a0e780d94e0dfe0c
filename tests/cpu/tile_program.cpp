#include "tests/cpu/tile_program.h"

#include <utility>

#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/codegen/cpu/llvm_object.h"
#include "runtime/cpu/virtual_world.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t result = 1;
  for (const std::int64_t extent : shape) result *= extent;
  return result;
}

}  // namespace

Attributes contiguous_access(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return {{"shape", shape},
          {"strides", strides},
          {"masked", std::vector<std::int64_t>(shape.size(), 0)},
          {"vector", std::int64_t{1}}};
}

Value* TileProgram::pointer(DType dtype, std::vector<std::int64_t> shape, const Bits& elements,
                            std::int64_t offset) {
  std::vector<Dimension> dimensions;
  for (const std::int64_t extent : shape) dimensions.push_back({extent, {}});
  if (dimensions.empty()) dimensions.push_back({1, {}});
  Value* parameter =
      builder.tensor("p" + std::to_string(tensors_.size()), dtype, std::move(dimensions));
  std::vector<std::byte> bytes(kGuardBytes, kGuard);
  const std::vector<std::byte> packed = pack(elements, dtype);
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  bytes.insert(bytes.end(), kGuardBytes, kGuard);
  tensors_.push_back({dtype, std::move(bytes), false});
  return builder.emit("address", {parameter, builder.constant(offset, kIndex)})->result();
}

Value* TileProgram::load(Value* pointer, std::vector<std::int64_t> shape) {
  return builder.emit("tile_load", {pointer}, contiguous_access(shape))->result();
}

void TileProgram::store(Value* pointer, Value* value) {
  builder.emit("tile_store", {pointer, value}, contiguous_access(value->type.shape));
}

Value* TileProgram::input(DType dtype, std::vector<std::int64_t> shape, const Bits& elements) {
  return load(pointer(dtype, shape, elements), shape);
}

void TileProgram::output(Value* value) {
  const Bits poison(static_cast<std::size_t>(product(value->type.shape)), 0x5B5B5B5B5B5B5B5BULL);
  store(pointer(value->type.dtype, value->type.shape, poison), value);
  tensors_.back().is_output = true;
}

std::vector<Bits> TileProgram::run() {
  const CpuKernel kernel = compile_lowered(builder.finish(), &text_);
  arena_bytes_ = kernel.artifact().arena_bytes;
  std::vector<std::uint64_t> arguments;
  for (Tensor& tensor : tensors_) {
    arguments.push_back(reinterpret_cast<std::uint64_t>(tensor.bytes.data() + kGuardBytes));
  }
  const std::vector<std::vector<std::uint64_t>> of_rank(1, arguments);
  VirtualWorld(1, 1, 0).launch(kernel, 1, of_rank);
  std::vector<Bits> outputs;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto& bytes = tensors_[i].bytes;
    for (std::size_t k = 0; k < kGuardBytes; ++k) {
      REQUIRE(bytes[k] == kGuard);
      REQUIRE(bytes[bytes.size() - 1 - k] == kGuard);
    }
    if (tensors_[i].is_output) outputs.push_back(tensor(i));
  }
  return outputs;
}

Bits TileProgram::tensor(std::size_t number) const {
  const auto& bytes = tensors_.at(number).bytes;
  return unpack({bytes.begin() + kGuardBytes, bytes.end() - kGuardBytes},
                tensors_.at(number).dtype);
}

CpuKernel compile_lowered(Program program, std::string* text) {
  Artifact artifact;
  artifact.kernel = artifact.entry = program.name;
  artifact.source_file = program.source_file;
  artifact.target.world_size = program.world_size;
  artifact.target.lsa_size = program.lsa_size;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter::Kind kind = program.parameters[i].kind;
    ArgumentSlot slot;
    slot.kind = kind == Parameter::Kind::kTensor   ? ArgumentSlot::Kind::kTensor
                : kind == Parameter::Kind::kWindow ? ArgumentSlot::Kind::kWindow
                                                   : ArgumentSlot::Kind::kScalar;
    slot.index = static_cast<int>(i);
    artifact.arguments.push_back(slot);
  }
  for (std::size_t i = 0; i < program.dimensions.size(); ++i) {
    artifact.arguments.push_back({ArgumentSlot::Kind::kExtent, static_cast<int>(i), 0});
  }
  LlvmEmitter emitter(program, artifact);
  artifact.source = emitter.run();
  artifact.arena_bytes = emitter.arena_bytes();
  artifact.binary = compile_llvm_text(artifact.source);
  if (text != nullptr) *text = artifact.source;
  return CpuKernel(std::move(artifact));
}

}  // namespace tilewire
