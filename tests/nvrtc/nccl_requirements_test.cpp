#include "runtime/nccl/requirements.h"

#include <string>

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/nvrtc/host_compiler.h"
#include "tests/nvrtc/nccl_releases.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string our_bytes(const NcclLayout& layout, const DeviceNeeds& needs) {
  return hex(requirement_bytes(layout, needs));
}

/// What a program for NCCL's own headers writes into the real struct, byte for byte.
std::string bytes_on_host(const NcclHeaders& headers, const std::string& assignments) {
  return hex(
      run_on_host(headers, fmt::format("#include <cstdio>\n#include \"nccl.h\"\n#include "
                                       "\"{}\"\n"
                                       "#if defined(NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER)\n"
                                       "static ncclDevCommRequirements needs = "
                                       "NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;\n"
                                       "#else\n"
                                       "static ncclDevCommRequirements needs;\n"
                                       "#endif\n"
                                       "int main() {{\n{}  std::fwrite(&needs, sizeof(needs), "
                                       "1, stdout);\n}}\n",
                                       nccl_host_header(headers), assignments)));
}

constexpr const char* kNetwork =
    "  needs.lsaMultimem = true;\n"
    "  needs.ginContextCount = 6;\n"
    "  needs.ginSignalCount = 65536;\n"
    "  needs.ginCounterCount = 3;\n"
    "#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 7)\n"
    "  needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;\n"
    "#else\n"
    "  needs.ginForceEnable = true;\n"
    "#endif\n";

constexpr const char* kBarriers =
    "  needs.lsaBarrierCount = 7;\n"
    "  needs.railGinBarrierCount = 8;\n"
    "#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 7)\n"
    "  needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;\n"
    "#else\n"
    "  needs.ginForceEnable = true;\n"
    "#endif\n";

}  // namespace

TEST_CASE("What NCCL is asked for is what a program for its headers would ask for",
          "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  for_each_nccl_release([](const NcclHeaders& headers) {
    const NcclLayout layout = nccl_layout(headers);
    CHECK(our_bytes(layout, {}) == bytes_on_host(headers, ""));
    CHECK(
        our_bytes(layout,
                  {.multimem = true, .gin_contexts = 6, .gin_signals = 65536, .gin_counters = 3}) ==
        bytes_on_host(headers, kNetwork));
    CHECK(our_bytes(layout, {.lsa_barriers = 7, .rail_gin_barriers = 8}) ==
          bytes_on_host(headers, kBarriers));
    if (headers.version() < NcclVersion{2, 30, 3}) return;
    CHECK(our_bytes(layout, {.world_gin_barriers = 9}) ==
          bytes_on_host(headers,
                        "  needs.worldGinBarrierCount = 9;\n"
                        "  needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;\n"));
  });
}
