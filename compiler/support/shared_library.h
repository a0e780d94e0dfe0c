#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilewire {

/// A library that is loaded at run time, and where it may lie.
struct LibraryDescription {
  std::string name;                  ///< as messages name it: `NVRTC`
  std::vector<std::string> sonames;  ///< in order of preference
  /// The folder that the user named for it (an installation's root); may be empty. `home_first`:
  /// it goes before Python wheels, else after them.
  std::filesystem::path home = {};
  bool home_first = false;
  std::string home_variable = {};  ///< that names `home`, for messages
  std::string remedy = {};         ///< what to do where it is missing
};

/// The libraries that tilewire knows, with the places of `Environment::get()`.
LibraryDescription nvrtc_library();
LibraryDescription nccl_library();
LibraryDescription cuda_driver_library();

/// A loaded library. Copies share it; it stays loaded until the process ends.
class SharedLibrary {
 public:
  SharedLibrary(void* handle, std::string name);

  /// The file that it came from.
  const std::filesystem::path& path() const { return path_; }
  /// Null where the library has no such symbol.
  void* find(const char* symbol) const;
  /// BackendError naming library, file and symbol where it has none.
  template <typename Function>
  Function function(const char* symbol) const {
    return reinterpret_cast<Function>(require(symbol));
  }

 private:
  void* require(const char* symbol) const;

  void* handle_;
  std::string name_;
  std::filesystem::path path_;
};

/// Folders with Python wheels, in addition to TILEWIRE_SITE_PACKAGES, replacing those of an earlier
/// call. The bindings hand over the interpreter's.
void set_site_packages(std::vector<std::filesystem::path> folders);
std::vector<std::filesystem::path> site_packages();

/// The library if this process has it already, whoever loaded it.
std::optional<SharedLibrary> loaded_library(const LibraryDescription& description);

/// Folders that `load_library` looks in, in its order, before it asks the loader.
std::vector<std::filesystem::path> library_folders(const LibraryDescription& description);

/// The file that `load_library` would load, without loading it; nothing where only the loader could
/// find one.
std::optional<std::filesystem::path> locate_library(const LibraryDescription& description);

/// Loads it: already in the process, then Python wheels, then the CUDA toolkit that the environment
/// names, then the loader path and /usr/local/cuda*. BackendError lists every place looked in.
SharedLibrary load_library(const LibraryDescription& description);

}  // namespace tilewire
