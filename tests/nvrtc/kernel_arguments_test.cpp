// What the runtime passes to a kernel is laid out as its PTX says, without a GPU.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "compiler/jit/compile.h"
#include "compiler/jit/nccl_layout.h"
#include "compiler/passes/lower.h"
#include "runtime/driver/argument_layout.h"
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

}  // namespace

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
      const std::vector<ArgumentLayout::Slot> found = parameters_of(ptx);
      REQUIRE(found.size() == layout.slots.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(found[i].offset == layout.slots[i].offset);
        CHECK(found[i].size == layout.slots[i].size);
      }
      CHECK(artifact.resources.waits == (target.world_size > 1));
      CHECK(artifact.launch.cooperative == artifact.resources.waits);
    }
  }
}

}  // namespace tilewire
