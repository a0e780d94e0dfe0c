#include "compiler/support/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <utility>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

namespace fs = std::filesystem;

struct SitePackages {
  std::mutex mutex;
  std::vector<fs::path> folders;
};

SitePackages& registered_site_packages() {
  static SitePackages registered;
  return registered;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// The folders directly inside `parent` whose names begin with `prefix`, in order of their names.
std::vector<fs::path> subfolders(const fs::path& parent, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const bool match = it->path().filename().string().rfind(prefix, 0) == 0;
    if (match && is_folder(it->path())) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Wheels lay libraries under `nvidia/<package>/lib`: `cuda_nvrtc` and `nccl` for CUDA 12, `cu13`
/// and `nccl` for CUDA 13. PyTorch's own builds may carry them in `torch/lib`.
std::vector<fs::path> wheel_folders() {
  std::vector<fs::path> folders;
  for (const fs::path& site : site_packages()) {
    for (const fs::path& package : subfolders(site / "nvidia", "")) {
      if (is_folder(package / "lib")) folders.push_back(package / "lib");
    }
    if (is_folder(site / "torch" / "lib")) folders.push_back(site / "torch" / "lib");
  }
  return folders;
}

void append_toolkit(std::vector<fs::path>& folders, const fs::path& home) {
  if (home.empty()) return;
  folders.push_back(home / "lib64");
  folders.push_back(home / "lib");
  folders.push_back(home / "targets" / "x86_64-linux" / "lib");
}

/// Paths of mapped files named like one of the sonames, a longer version number allowed.
std::vector<std::string> mapped_files(const LibraryDescription& description) {
  std::vector<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string path = line.substr(slash);
    const std::string file = fs::path(path).filename().string();
    for (const std::string& soname : description.sonames) {
      const bool same = file == soname || file.rfind(soname + ".", 0) == 0;
      if (same && std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
    }
  }
  return found;
}

std::string last_loader_error() {
  const char* text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

LibraryDescription nvrtc_library() {
  return {.name = "NVRTC",
          .sonames = {"libnvrtc.so.13", "libnvrtc.so.12"},
          .home = Environment::get().cuda_home,
          .home_first = false,
          .home_variable = "TILEWIRE_CUDA_HOME",
          .remedy =
              "install it with `pip install nvidia-cuda-nvrtc`, or name a CUDA 12 or 13 "
              "toolkit in TILEWIRE_CUDA_HOME"};
}

LibraryDescription nccl_library() {
  return {.name = "NCCL",
          .sonames = {"libnccl.so.2"},
          .home = Environment::get().nccl_home,
          .home_first = true,
          .home_variable = "TILEWIRE_NCCL_HOME",
          .remedy =
              "install it with `pip install 'nvidia-nccl-cu13>=2.28.7,<2.29'` (for CUDA 12: "
              "nvidia-nccl-cu12), or name its folder in TILEWIRE_NCCL_HOME"};
}

LibraryDescription cuda_driver_library() {
  return {.name = "the CUDA driver",
          .sonames = {"libcuda.so.1"},
          .home = {},
          .home_first = false,
          .home_variable = {},
          .remedy = "install NVIDIA's driver for this machine's GPU"};
}

SharedLibrary::SharedLibrary(void* handle, std::string name)
    : handle_(handle), name_(std::move(name)) {
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr)
    path_ = map->l_name;
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

void* SharedLibrary::require(const char* symbol) const {
  void* address = find(symbol);
  if (address == nullptr) {
    throw BackendError(fmt::format("{} ({}) has no function {}: too old or not that library", name_,
                                   path_.string(), symbol));
  }
  return address;
}

void set_site_packages(std::vector<fs::path> folders) {
  auto& registered = registered_site_packages();
  const std::lock_guard lock(registered.mutex);
  registered.folders = std::move(folders);
}

std::vector<fs::path> site_packages() {
  std::vector<fs::path> folders = Environment::get().site_packages;
  auto& registered = registered_site_packages();
  const std::lock_guard lock(registered.mutex);
  folders.insert(folders.end(), registered.folders.begin(), registered.folders.end());
  return folders;
}

std::optional<SharedLibrary> loaded_library(const LibraryDescription& description) {
  for (const std::string& soname : description.sonames) {
    void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) return SharedLibrary(handle, description.name);
  }
  for (const std::string& path : mapped_files(description)) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) return SharedLibrary(handle, description.name);
  }
  return std::nullopt;
}

std::vector<fs::path> library_folders(const LibraryDescription& description) {
  std::vector<fs::path> folders;
  if (description.home_first) append_toolkit(folders, description.home);
  for (fs::path& folder : wheel_folders()) folders.push_back(std::move(folder));
  if (!description.home_first) append_toolkit(folders, description.home);
  return folders;
}

namespace {

/// Folders that are looked in after the loader was asked, newest version first.
std::vector<fs::path> system_folders() {
  std::vector<fs::path> folders;
  append_toolkit(folders, "/usr/local/cuda");
  auto versions = subfolders("/usr/local", "cuda-");
  std::reverse(versions.begin(), versions.end());
  for (const fs::path& version : versions) append_toolkit(folders, version);
  return folders;
}

/// Tries to load files and remembers why it could not.
class Attempt {
 public:
  explicit Attempt(const LibraryDescription& description) : description_(description) {}

  std::optional<SharedLibrary> in_folder(const fs::path& folder) {
    for (const std::string& soname : description_.sonames) {
      const fs::path file = folder / soname;
      if (!is_file(file)) continue;
      if (auto library = open(file.string())) return library;
      looked_in_.push_back(fmt::format("{}: {}", file.string(), last_loader_error()));
      return std::nullopt;
    }
    looked_in_.push_back(folder.string() +
                         (is_folder(folder) ? ": not there" : ": no such folder"));
    return std::nullopt;
  }

  std::optional<SharedLibrary> by_loader() {
    for (const std::string& soname : description_.sonames) {
      if (auto library = open(soname)) return library;
    }
    looked_in_.push_back(fmt::format("the loader's path: {}", last_loader_error()));
    return std::nullopt;
  }

  [[noreturn]] void fail() const {
    std::string message = fmt::format("{} not found (looked for {})", description_.name,
                                      fmt::join(description_.sonames, ", "));
    message += "\n  this process: not loaded";
    if (site_packages().empty()) message += "\n  Python wheels: no site-packages folder is known";
    for (const fs::path& site : site_packages()) {
      message += fmt::format("\n  {}: wheels under nvidia/*/lib", site.string());
    }
    for (const std::string& place : looked_in_) message += "\n  " + place;
    throw BackendError(message + "\n" + description_.remedy);
  }

 private:
  std::optional<SharedLibrary> open(const std::string& file) const {
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return std::nullopt;
    return SharedLibrary(handle, description_.name);
  }

  const LibraryDescription& description_;
  std::vector<std::string> looked_in_;
};

}  // namespace

std::optional<fs::path> locate_library(const LibraryDescription& description) {
  if (const auto loaded = loaded_library(description)) return loaded->path();
  auto folders = library_folders(description);
  for (const char* common : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(common);
  }
  for (fs::path& folder : system_folders()) folders.push_back(std::move(folder));
  for (const fs::path& folder : folders) {
    for (const std::string& soname : description.sonames) {
      if (is_file(folder / soname)) return folder / soname;
    }
  }
  return std::nullopt;
}

SharedLibrary load_library(const LibraryDescription& description) {
  if (auto loaded = loaded_library(description)) return *loaded;
  Attempt attempt(description);
  for (const fs::path& folder : library_folders(description)) {
    if (auto library = attempt.in_folder(folder)) return *library;
  }
  if (auto library = attempt.by_loader()) return *library;
  for (const fs::path& folder : system_folders()) {
    if (auto library = attempt.in_folder(folder)) return *library;
  }
  attempt.fail();
}

}  // namespace tilewire
