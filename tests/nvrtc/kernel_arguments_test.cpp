// What the runtime passes to a kernel is laid out as its PTX says, without a GPU.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "compiler/frontend/builder.h"
#include "compiler/jit/compile.h"
#include "compiler/jit/nccl_layout.h"
#include "compiler/passes/facts.h"
#include "compiler/passes/lower.h"
#include "runtime/driver/argument_layout.h"
#include "runtime/driver/kernel.h"
#include "tests/catch.h"
#include "tests/norm_program.h"
#include "tests/nvrtc/require.h"

namespace tilewire {
namespace {

/// Offset and size of each parameter of the entry, by PTX's rules: `.param .align 8 .b8 name[200]`,
/// `.param .u64 name`.
std::vector<ArgumentLayout::Slot> parameters_of(const std::string& ptx) {
  const std::size_t begin = ptx.find(".entry");
  REQUIRE(begin != std::string::npos);
  const std::string signature = ptx.substr(begin, ptx.find(')', begin) - begin);
  const std::regex parameter(
      R"(\.param\s+(?:\.align\s+(\d+)\s+)?(?:\.ptr\s+)?\.(?:[a-z]+)(\d+)\s*(?:\.ptr[^,\[\n]*?)?\s*[\w$]+(?:\[(\d+)\])?)");
  std::vector<ArgumentLayout::Slot> slots;
  std::size_t end = 0;
  for (auto it = std::sregex_iterator(signature.begin(), signature.end(), parameter);
       it != std::sregex_iterator(); ++it) {
    const std::size_t element = std::stoul((*it)[2]) / 8;
    ArgumentLayout::Slot slot;
    slot.size = (*it)[3].matched ? element * std::stoul((*it)[3]) : element;
    slot.alignment = (*it)[1].matched ? std::stoul((*it)[1]) : element;
    slot.offset = (end + slot.alignment - 1) / slot.alignment * slot.alignment;
    end = slot.offset + slot.size;
    slots.push_back(slot);
  }
  return slots;
}

/// Rows of `c` in blocks of 128: products of those of `a` with the transpose of `b`.
Program product_of_rows(const Target& target) {
  Builder b("product", "product.py", target);
  const Dimension rows{kDynamic, "M"};
  const Dimension depth{kDynamic, "K"};
  Value* left = b.tensor("a", DType::kF16, {rows, depth});
  Value* right = b.window("b", DType::kF16, {{128, {}}, depth});
  Value* out = b.tensor("c", DType::kF16, {rows, {128, {}}});
  b.for_persistent(b.dimension("M"), {}, [&](Value* block, const Values&) -> std::vector<Operand> {
    const Index of_block = Index::ds(b.binary("mul", block, 128), 128);
    Value* product = b.matmul(b.slice(left, {of_block, Index::all()}), b.permute(right));
    b.store(b.slice(out, {of_block, Index::all()}), b.cast(product, DType::kF16));
    return {};
  });
  Program program = b.finish();
  program.facts = ordinary_facts(program);
  program.facts.contiguous[0] = false;
  return program;
}

void check_layout(const ArgumentLayout& layout, const std::string& ptx) {
  const std::vector<ArgumentLayout::Slot> found = parameters_of(ptx);
  REQUIRE(found.size() == layout.slots.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].offset == layout.slots[i].offset);
    CHECK(found[i].size == layout.slots[i].size);
  }
}

}  // namespace

TEST_CASE("tensor maps lie among a kernel's parameters, and the runtime can make them") {
  TILEWIRE_REQUIRE_NVRTC();
  const Target target = Target::parse("sm_90a");
  const Artifact artifact = describe(lower(product_of_rows(target), target), target);
  check_layout(ArgumentLayout::of(artifact, 0), emit_stage(product_of_rows(target), target, "ptx"));
  std::vector<TensorMapRequest> made;
  const TensorMaps maps(artifact, {}, [&made](const auto& request, device::TensorMap&) {
    made.push_back(request);
    return cuda::kSuccess;
  });
  std::vector<ArgumentValue> values(artifact.arguments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ArgumentSlot& slot = artifact.arguments[i];
    values[i].window = {nullptr, 0, reinterpret_cast<void*>(0x3000), 0, 0};
    if (slot.kind == ArgumentSlot::Kind::kTensor)
      values[i].pointer = slot.index == 0 ? 0x1000 : 0x2000;
    if (slot.kind == ArgumentSlot::Kind::kStride)
      values[i].integer = slot.dimension == 0 ? 1032 : 1;
    if (slot.kind == ArgumentSlot::Kind::kExtent) {
      values[i].integer =
          artifact.dimensions[static_cast<std::size_t>(slot.index)] == "M" ? 200 : 1000;
    }
  }
  device::TensorMap filled[kMaxTensorMaps];
  maps.make(values.data(), 0, filled);
  REQUIRE(made.size() == 2);
  CHECK(made[0].address == 0x1000);
  CHECK(made[0].extents[0] == 1000);
  CHECK(made[0].extents[1] == 200);
  CHECK(made[0].strides[0] == 2064);
  CHECK(made[1].address == 0x3000);
  CHECK(made[1].extents[1] == 128);
  CHECK(made[1].strides[0] == 2000);
}

TEST_CASE("a kernel's parameters lie where the runtime puts them") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto headers = nccl_headers_or_null();
  if (headers == nullptr) return;
  const NcclLayout nccl = nccl_layout(*headers);
  for (const char* text : {"sm_90a:world=1", "sm_90a:world=2", "sm_100a:world=8"}) {
    for (const DType dtype : {DType::kBF16, DType::kF32}) {
      CAPTURE(text, name_of(dtype));
      const Target target = Target::parse(text);
      const auto program = [&] { return test::norm_program(dtype, 1000, target); };
      const Artifact artifact = describe(lower(program(), target), target);
      const ArgumentLayout layout = ArgumentLayout::of(artifact, nccl.device_comm_bytes);
      const std::string ptx = emit_stage(program(), target, "ptx");
      check_layout(layout, ptx);
      CHECK(artifact.resources.waits == (target.world_size > 1));
      CHECK(artifact.launch.cooperative == artifact.resources.waits);
    }
  }
}

}  // namespace tilewire
