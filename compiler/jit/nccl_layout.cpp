#include "compiler/jit/nccl_layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::string probe_source(std::span<const std::string> expressions) {
  return fmt::format(
      "// Sizes and offsets of NCCL's structs, to be read off the PTX.\n"
      "#include <nccl_device.h>\n\n"
      "extern \"C\" __constant__ unsigned long long tilewire_probe[] = {{\n  {}}};\n",
      fmt::join(expressions, ",\n  "));
}

/// A struct of the host's as NCCL's own initialiser makes it, to be read off the PTX.
std::string initialised_source(std::string_view type, std::string_view initialiser) {
  return fmt::format(
      "// NCCL's own defaults, to be read off the PTX.\n"
      "#include \"{0}\"\n\n"
      "#if defined({2})\n"
      "extern \"C\" __constant__ {1} tilewire_probe = {2};\n"
      "#else\n"
      "extern \"C\" __constant__ {1} tilewire_probe = {{}};\n"
      "#endif\n",
      kNcclHostHeader, type, initialiser);
}

/// Offset and size of each field, in turn. For one that the struct lacks, and for all of a struct
/// that isn't defined, overload resolution takes the other function, and the size is 0.
std::string fields_source(std::string_view type, std::span<const std::string_view> fields) {
  std::string source = fmt::format(
      "// Which fields this version has, and where, to be read off the PTX.\n"
      "#include \"{}\"\n\nstruct {};\n",
      kNcclHostHeader, type);
  std::string values;
  for (const std::string_view field : fields) {
    source += fmt::format(
        "template <typename T> constexpr auto offset_of_{0}(int) -> decltype(sizeof(T::{0})) {{ "
        "return offsetof(T, {0}); }}\n"
        "template <typename T> constexpr unsigned long offset_of_{0}(...) {{ return 0; }}\n"
        "template <typename T> constexpr auto size_of_{0}(int) -> decltype(sizeof(T::{0})) {{ "
        "return sizeof(T::{0}); }}\n"
        "template <typename T> constexpr unsigned long size_of_{0}(...) {{ return 0; }}\n",
        field);
    values += fmt::format("  offset_of_{0}<{1}>(0), size_of_{0}<{1}>(0),\n", field, type);
  }
  return source + "extern \"C\" __constant__ unsigned long long tilewire_probe[] = {\n" + values +
         "};\n";
}

/// The number that text begins with at `at`, which moves behind it; nothing if there is none.
std::optional<std::size_t> number_at(const std::string& text, std::size_t& at) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data() + at, end, number);
  if (error != std::errc()) return std::nullopt;
  at = static_cast<std::size_t>(behind - text.data());
  return number;
}

/// The bytes of `tilewire_probe` in PTX: `.const .align 8 .b8 tilewire_probe[16] = {16, 0, 7};`,
/// where zeros at the end may be missing, and all of it from ` = ` on.
std::optional<std::string> probe_bytes(const std::string& ptx) {
  constexpr std::string_view kDeclaration = ".b8 tilewire_probe[";
  std::size_t at = ptx.find(kDeclaration);
  if (at == std::string::npos) return std::nullopt;
  at += kDeclaration.size();
  const auto num_bytes = number_at(ptx, at);
  if (!num_bytes) return std::nullopt;
  std::string bytes;
  const std::size_t end = std::min(ptx.find(';', at), ptx.size());
  for (at = ptx.find('{', at); at < end; ++at) {
    if (const auto byte = number_at(ptx, at)) bytes.push_back(static_cast<char>(*byte));
  }
  if (bytes.size() > *num_bytes) return std::nullopt;
  bytes.resize(*num_bytes, '\0');
  return bytes;
}

std::string compile_probe(const NcclHeaders& headers, NcclForm form, std::string source,
                          const char* name) {
  // PTX needs no GPU; any architecture that NVRTC 12 and 13 share will do.
  const std::string ptx =
      compile_cuda(CudaJob::of(std::move(source), name, "compute_80", form, headers));
  auto bytes = probe_bytes(ptx);
  if (!bytes) {
    throw InternalError(fmt::format("{} on NCCL {}'s headers ({}): unexpected PTX\n{}", name,
                                    headers.version().to_string(), headers.folder().string(), ptx));
  }
  return std::move(*bytes);
}

std::vector<std::uint64_t> numbers(const std::string& bytes, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  if (bytes.size() != values.size() * sizeof(std::uint64_t)) {
    throw InternalError(
        fmt::format("probe of NCCL's structs: {} bytes for {} questions", bytes.size(), count));
  }
  std::memcpy(values.data(), bytes.data(), bytes.size());  // both little-endian
  return values;
}

// What the runtime sets or reads, in any version; see runtime/nccl/requirements.h.
constexpr std::array<std::string_view, 9> kRequirementFields = {
    "lsaMultimem",     "lsaBarrierCount",   "railGinBarrierCount",
    "ginForceEnable",  "ginContextCount",   "ginSignalCount",
    "ginCounterCount", "ginConnectionType", "worldGinBarrierCount"};
constexpr std::array<std::string_view, 5> kPropertyFields = {
    "deviceApiSupport", "multimemSupport", "ginType", "nLsaTeams", "railedGinType"};
constexpr std::array<std::string_view, 4> kDeviceCommFields = {"lsaMultimem", "ginContextCount",
                                                               "ginSignalCount", "ginCounterCount"};

}  // namespace

std::vector<std::uint64_t> probe_nccl(const NcclHeaders& headers, NcclForm form,
                                      std::span<const std::string> expressions) {
  return numbers(compile_probe(headers, form, probe_source(expressions), "nccl_layout.cu"),
                 expressions.size());
}

NcclFields probe_nccl_fields(const NcclHeaders& headers, NcclForm form, std::string_view type,
                             std::span<const std::string_view> fields) {
  const auto values =
      numbers(compile_probe(headers, form, fields_source(type, fields), "nccl_fields.cu"),
              2 * fields.size());
  NcclFields found;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (values[2 * i + 1] == 0) continue;
    found.emplace(fields[i], NcclField{.offset = values[2 * i], .num_bytes = values[2 * i + 1]});
  }
  return found;
}

NcclLayout nccl_layout(const NcclHeaders& headers, NcclForm form) {
  struct Question {
    std::uint64_t NcclLayout::* answer;
    const char* expression;
  };
  static constexpr std::array<Question, 12> kQuestions = {{
      {&NcclLayout::device_comm_bytes, "sizeof(ncclDevComm)"},
      {&NcclLayout::device_comm_alignment, "alignof(ncclDevComm)"},
      {&NcclLayout::rank, "offsetof(ncclDevComm, rank)"},
      {&NcclLayout::num_ranks, "offsetof(ncclDevComm, nRanks)"},
      {&NcclLayout::lsa_rank, "offsetof(ncclDevComm, lsaRank)"},
      {&NcclLayout::lsa_size, "offsetof(ncclDevComm, lsaSize)"},
      {&NcclLayout::window_bytes, "sizeof(ncclWindow_vidmem)"},
      {&NcclLayout::window_lsa_flat_base, "offsetof(ncclWindow_vidmem, lsaFlatBase)"},
      {&NcclLayout::window_lsa_rank, "offsetof(ncclWindow_vidmem, lsaRank)"},
      {&NcclLayout::window_world_rank, "offsetof(ncclWindow_vidmem, worldRank)"},
      {&NcclLayout::window_stride_4g, "offsetof(ncclWindow_vidmem, stride4G)"},
      {&NcclLayout::window_multicast_offset_4k, "offsetof(ncclWindow_vidmem, mcOffset4K)"},
  }};
  std::vector<std::string> expressions;
  for (const Question& question : kQuestions) expressions.emplace_back(question.expression);
  const auto values = probe_nccl(headers, form, expressions);
  NcclLayout layout{.version = headers.version()};
  for (std::size_t i = 0; i < kQuestions.size(); ++i) layout.*kQuestions[i].answer = values[i];
  layout.device_comm_fields = probe_nccl_fields(headers, form, "ncclDevComm", kDeviceCommFields);
  layout.requirements = compile_probe(
      headers, form,
      initialised_source("ncclDevCommRequirements", "NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER"),
      "nccl_requirements.cu");
  layout.requirement_fields =
      probe_nccl_fields(headers, form, "ncclDevCommRequirements", kRequirementFields);
  layout.property_fields = probe_nccl_fields(headers, form, "ncclCommProperties", kPropertyFields);
  if (layout.property_fields.empty()) return layout;
  layout.properties = compile_probe(
      headers, form, initialised_source("ncclCommProperties", "NCCL_COMM_PROPERTIES_INITIALIZER"),
      "nccl_properties.cu");
  return layout;
}

}  // namespace tilewire
