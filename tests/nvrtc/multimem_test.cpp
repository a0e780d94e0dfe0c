#include "compiler/ops/multimem.h"

#include <fmt/format.h>

#include <algorithm>

#include <string>
#include <vector>

#include "compiler/codegen/cuda/emitter.h"
#include "compiler/jit/cuda_compiler.h"
#include "tests/catch.h"
#include "tests/nvrtc/require.h"

namespace tilewire {
namespace {

Target target_of(const std::string& architecture) {
  return Target::parse(architecture + ":world=2,multimem=1");
}

/// Words that one instruction takes of a dtype: 1, and 2 and 4 of vectors.
std::vector<int> words_of(DType dtype) {
  const bool has_vectors = is_float(dtype) && dtype != DType::kF64;
  return has_vectors ? std::vector<int>{1, 2, 4} : std::vector<int>{1};
}

std::string operation_name(std::string_view operation) {
  std::string name(operation);
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return "tw::Multimem" + name;
}

/// A kernel that reduces tiles from all copies and into them, `elements` at a time.
std::string kernel(DType dtype, std::string_view operation, MultimemUse use, int elements) {
  const std::string_view element = device_type(dtype);
  const std::string how = operation_name(operation);
  const std::string body =
      use == MultimemUse::kLoad
          ? fmt::format(
                "tw::store<{0}>(y, tw::multimem_load<TileType, {0}, {1}>(place, {2}{{}}, "
                "true));",
                elements, how, element)
          : fmt::format(
                "tw::multimem_reduce<TileType, {0}, {1}>(place, tw::load<TileType, {0}>(y), "
                "true);",
                elements, how);
  return fmt::format(
      "#include \"tilewire/memory.cuh\"\n#include \"tilewire/multimem.cuh\"\n"
      "namespace tw = tilewire::device;\n"
      "using TileType = tw::Tile<{0}, tw::Blocked<32 * {1}, {1}, 32>>;\n"
      "extern \"C\" __global__ void kernel({0}* x, {0}* y) {{\n"
      "  const auto place = tw::access(x, tw::dim<32 * {1}>(1));\n  {2}\n}}\n",
      element, elements, body);
}

/// What must stand in the PTX for so many words.
std::string instruction(const MultimemReduction& each, MultimemUse use, int words) {
  const bool is_load = use == MultimemUse::kLoad;
  std::string text =
      is_load ? "multimem.ld_reduce.weak.global." : "multimem.red.relaxed.sys.global.";
  text += each.operation;
  if (is_load && each.accumulator != each.dtype) {
    text += fmt::format(".acc::{}", name_of(each.accumulator));
  }
  const bool is_pair = !is_load && words == 1 && each.elements_in_a_word == 2 &&
                       each.operation != "add";  // of f16, which takes two for a word
  if (is_pair) return text + fmt::format(".v2.{}", name_of(each.dtype));
  if (words > 1) text += fmt::format(".v{}", words);
  return text + fmt::format(".{}", each.type);
}

NvrtcResult compile(const std::string& source, const std::string& architecture) {
  return CudaJob::of(source, "multimem.cu", architecture, NcclForm::kSlim).compile();
}

bool knows(int capability) {
  const auto known = Nvrtc::get().architectures();
  return std::count(known.begin(), known.end(), capability) > 0;
}

}  // namespace

TEST_CASE("Every multimem reduction of the table is an instruction", "[multimem]") {
  TILEWIRE_REQUIRE_NVRTC();
  for (const auto& [capability, architecture] :
       {std::pair(90, std::string("sm_90a")), std::pair(100, std::string("sm_100a"))}) {
    if (!knows(capability)) continue;
    const Target target = target_of(architecture);
    for (const MultimemReduction& each : multimem_reductions()) {
      for (const MultimemUse use : {MultimemUse::kLoad, MultimemUse::kStore}) {
        if (!has_multimem(target, each.dtype, each.operation, use)) continue;
        for (const int words : words_of(each.dtype)) {
          INFO(fmt::format("{} of {}, {} words, {}", each.operation, name_of(each.dtype), words,
                           architecture));
          const int elements = words * each.elements_in_a_word;
          const NvrtcResult result =
              compile(kernel(each.dtype, each.operation, use, elements), architecture);
          CHECK(result.ptx.find(instruction(each, use, words) + " ") != std::string::npos);
          CHECK_FALSE(result.cubin.empty());
        }
      }
    }
  }
}

/// By the assembler, without tilewire's templates.
TEST_CASE("No other multimem reduction of floats is one", "[multimem]") {
  TILEWIRE_REQUIRE_NVRTC();
  for (const auto& [capability, architecture] :
       {std::pair(90, std::string("sm_90a")), std::pair(100, std::string("sm_100a"))}) {
    if (!knows(capability)) continue;
    const Target target = target_of(architecture);
    for (const MultimemReduction& row : multimem_reductions()) {
      if (!is_float(row.dtype) || row.operation != "add") continue;
      for (const std::string_view operation : {"add", "min", "max", "and"}) {
        for (const MultimemUse use : {MultimemUse::kLoad, MultimemUse::kStore}) {
          if (has_multimem(target, row.dtype, operation, use)) continue;
          const bool is_load = use == MultimemUse::kLoad;
          const std::string letter = row.dtype == DType::kF32   ? "f"
                                     : row.dtype == DType::kF64 ? "d"
                                                                : "r";
          const std::string type = letter == "f" ? "float" : letter == "d" ? "double" : "unsigned";
          const std::string text =
              is_load ? fmt::format(
                            "multimem.ld_reduce.weak.global.{}.{} %0, [%1];\" : \"={}\"(v) : "
                            "\"l\"(x)",
                            operation, row.type, letter)
                      : fmt::format(
                            "multimem.red.relaxed.sys.global.{}.{} [%1], %0;\" :: \"{}\"(v), "
                            "\"l\"(x)",
                            operation, row.type, letter);
          INFO(architecture << ": " << text);
          CHECK_THROWS_AS(
              compile(fmt::format("extern \"C\" __global__ void kernel({0}* x) {{\n  {0} v = *x;\n"
                                  "  asm volatile(\"{1} : \"memory\");\n  *x = v;\n}}\n",
                                  type, text),
                      architecture),
              BackendError);
        }
      }
    }
  }
}

TEST_CASE("Elements of any dtype go to all copies by words", "[multimem]") {
  TILEWIRE_REQUIRE_NVRTC();
  for (const auto& [element, vector, expected] :
       {std::tuple("int8_t", 4, "multimem.st.weak.global.b32 "),
        std::tuple("int8_t", 16, "multimem.st.weak.global.v4.f32 "),
        std::tuple("tw::bf16", 2, "multimem.st.weak.global.b32 "),
        std::tuple("tw::f16", 4, "multimem.st.weak.global.v2.f32 "),
        std::tuple("float", 4, "multimem.st.weak.global.v4.f32 "),
        std::tuple("double", 1, "multimem.st.weak.global.v2.f32 "),
        std::tuple("bool", 8, "multimem.st.weak.global.v2.f32 "),
        std::tuple("int64_t", 2, "multimem.st.weak.global.v4.f32 ")}) {
    INFO(element << " by " << vector);
    const std::string source = fmt::format(
        "#include \"tilewire/memory.cuh\"\n#include \"tilewire/multimem.cuh\"\n"
        "namespace tw = tilewire::device;\n"
        "using TileType = tw::Tile<{0}, tw::Blocked<32 * {1}, {1}, 32>>;\n"
        "extern \"C\" __global__ void kernel({0}* x, {0}* y) {{\n"
        "  tw::multimem_store<TileType, {1}>(tw::access(x, tw::dim<32 * {1}>(1)),\n"
        "      tw::load<TileType, {1}>(y), true);\n}}\n",
        element, vector);
    const std::string ptx = compile(source, "sm_90a").ptx;
    CHECK(ptx.find(expected) != std::string::npos);
    CHECK(ptx.find("st.global") == std::string::npos);
  }
}

}  // namespace tilewire
