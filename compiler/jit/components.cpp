#include "compiler/jit/components.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "compiler/jit/compile.h"
#include "compiler/jit/nccl_headers.h"
#include "compiler/jit/nvrtc.h"
#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "compiler/support/files.h"
#include "compiler/support/shared_library.h"

namespace tilewire {
namespace {

namespace fs = std::filesystem;

constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

/// Runs `inspect`, which fills the report; what it throws becomes the problem.
template <typename Inspect>
ComponentReport report(std::string name, std::string usable_for, std::string remedy,
                       const Inspect& inspect) {
  ComponentReport result{.name = std::move(name),
                         .found_path = {},
                         .version = {},
                         .usable_for = std::move(usable_for),
                         .problem = {},
                         .remedy = std::move(remedy)};
  try {
    inspect(result);
  } catch (const Error& error) {
    result.problem = error.what();
  }
  if (result.problem.empty()) result.remedy.clear();
  return result;
}

/// The driver's CUDA version: 13000 is 13.0. Needs no GPU.
std::optional<int> driver_version(const SharedLibrary& driver) {
  int version = 0;
  const int code = driver.function<int (*)(int*)>("cuDriverGetVersion")(&version);
  return code == 0 ? std::optional(version) : std::nullopt;
}

std::optional<int> driver_version_or_null() {
  try {
    return driver_version(load_library(cuda_driver_library()));
  } catch (const BackendError&) {
    return std::nullopt;  // no driver: nothing to be too new for
  }
}

void inspect_driver(ComponentReport& result) {
  const SharedLibrary driver = load_library(cuda_driver_library());
  result.found_path = driver.path();
  if (const auto version = driver_version(driver)) {
    result.version = fmt::format("CUDA {}.{}", *version / 1000, *version % 1000 / 10);
  }
  const int code = driver.function<int (*)(unsigned)>("cuInit")(0);
  if (code == kNoDevice) {
    result.problem = "it sees no GPU";
  } else if (code != 0) {
    result.problem = fmt::format("cuInit failed with code {}", code);
  }
}

void inspect_nvrtc(ComponentReport& result) {
  const Nvrtc& nvrtc = Nvrtc::get();
  result.found_path = nvrtc.path();
  result.version = nvrtc.version();
  const auto driver = driver_version_or_null();
  if (driver && nvrtc.major() > *driver / 1000) {
    result.problem =
        fmt::format("the driver is of CUDA {} and may not load what it compiles", *driver / 1000);
    result.remedy = "update the driver, or install an NVRTC of the driver's CUDA version";
  }
}

void inspect_cuda_headers(ComponentReport& result) {
  std::vector<fs::path> folders;
  for (const fs::path& library : library_folders(nvrtc_library())) {
    folders.push_back(library.parent_path() / "include");
  }
  folders.emplace_back("/usr/local/cuda/include");
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (!fs::is_regular_file(folder / "cuda.h", error)) continue;
    result.found_path = folder;
    const auto text = read_file(folder / "cuda.h").value_or("");
    const std::string define = "#define CUDA_VERSION ";
    if (const auto at = text.find(define); at != std::string::npos) {
      const int number = std::atoi(text.c_str() + at + define.size());
      result.version = fmt::format("{}.{}", number / 1000, number % 1000 / 10);
    }
    return;
  }
}

void inspect_nccl(ComponentReport& result) {
  const SharedLibrary library = load_library(nccl_library());
  result.found_path = library.path();
  int code = 0;
  if (library.function<int (*)(int*)>("ncclGetVersion")(&code) != 0) {
    result.problem = "ncclGetVersion failed";
    return;
  }
  const NcclVersion version = NcclVersion::from_code(code);
  result.version = version.to_string();
  if (version < kOldestNccl) {
    result.problem = fmt::format("{} or newer is needed", kOldestNccl.to_string());
  } else if (version >= kFirstUnknownNccl) {
    result.problem = fmt::format("newer than what this tilewire knows: {}", known_nccl_versions());
  }
}

void inspect_nccl_headers(ComponentReport& result) {
  const auto headers = NcclHeaders::find();
  result.found_path = headers->folder();
  result.version = headers->version().to_string();
}

void inspect_cache(ComponentReport& result) {
  const fs::path folder = Environment::get().cache_dir;
  result.found_path = folder;
  if (folder.empty()) {
    result.problem = "the disk cache is off: every process compiles its kernels anew";
    return;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || ::access(folder.c_str(), W_OK) != 0) {
    result.problem = "it can't be written: every process compiles its kernels anew";
  }
}

void inspect_llvm(ComponentReport& result) {
  const CpuCodegen* codegen = cpu_codegen();
  if (codegen == nullptr) {
    result.problem = "this build of tilewire has no CPU target";
    return;
  }
  result.found_path = "compiled in";
  result.version = codegen->version;
}

}  // namespace

std::vector<ComponentReport> report_components() {
  return {
      report("CUDA driver", "running kernels on GPUs", cuda_driver_library().remedy,
             inspect_driver),
      report("NVRTC", "compiling kernels for GPUs (no GPU needed)", nvrtc_library().remedy,
             inspect_nvrtc),
      report("CUDA headers", "tests of tilewire's own declarations; kernels need none", {},
             inspect_cuda_headers),
      report("NCCL library", "communication between GPUs", nccl_library().remedy, inspect_nccl),
      report("NCCL headers", "compiling kernels that communicate", nccl_library().remedy,
             inspect_nccl_headers),
      report("cache folder", "keeping compiled kernels",
             "set TILEWIRE_CACHE_DIR to a folder that can be written", inspect_cache),
      report("LLVM", "the CPU target", "build with LLVM 19 or newer (`-DTILEWIRE_LLVM=ON`)",
             inspect_llvm),
  };
}

}  // namespace tilewire
