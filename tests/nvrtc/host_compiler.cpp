#include "tests/nvrtc/host_compiler.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/scratch.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

void write_cuda_headers(const fs::path& folder) {
  write(folder / "cuda.h",
        "#pragma once\n#define CUDA_VERSION 13000\ntypedef unsigned long long CUdeviceptr;\n"
        "enum CUmemLocationType { CU_MEM_LOCATION_TYPE_INVALID, CU_MEM_LOCATION_TYPE_MAX = "
        "0x7fffffff };\n");
  write(folder / "cuda_runtime.h",
        "#pragma once\n#include <stddef.h>\n#define CUDART_VERSION 13000\n"
        "typedef struct CUstream_st* cudaStream_t;\ntypedef struct CUevent_st* cudaEvent_t;\n");
  for (const char* name : {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"}) {
    write(folder / name, "#pragma once\n");
  }
}

}  // namespace

std::string run_on_host(const NcclHeaders& headers, const std::string& source) {
  const ScratchFolder scratch;
  write_cuda_headers(scratch.path());
  write(scratch.path() / "probe.cpp", source);
  const std::string command = fmt::format(
      "cd '{}' && c++ -std=c++17 -w -isystem . -isystem '{}' probe.cpp -o probe && ./probe > "
      "answers",
      scratch.path().string(), headers.folder().string());
  INFO(source);
  REQUIRE(std::system(command.c_str()) == 0);
  return read_file(scratch.path() / "answers").value_or("");
}

std::vector<std::uint64_t> ask_host_compiler(const NcclHeaders& headers,
                                             const std::vector<std::string>& includes,
                                             const std::vector<std::string>& expressions) {
  std::string program = "#include <cstddef>\n#include <cstdio>\n";
  for (const std::string& include : includes) program += "#include \"" + include + "\"\n";
  program += "int main() {\n";
  for (const std::string& expression : expressions) {
    program += "  std::printf(\"%zu\\n\", static_cast<std::size_t>(" + expression + "));\n";
  }
  std::istringstream answers(run_on_host(headers, program + "}\n"));
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = 0; answers >> value;) values.push_back(value);
  return values;
}

std::string nccl_host_header(const NcclHeaders& headers) {
  const char* own = "nccl_device/host.h";
  return fs::exists(headers.folder() / own) ? own : "nccl_device/core.h";
}
