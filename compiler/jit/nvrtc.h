#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/shared_library.h"

namespace tilewire {

/// A text that `#include` finds under exactly this name, as spelled at the include.
struct Header {
  std::string name;
  std::string text;
};

/// CUDA C++ to be compiled.
struct NvrtcRequest {
  std::string source;
  std::string name;                  ///< the file name that messages give it
  std::vector<Header> headers;       ///< all of them: nothing is read from disk
  std::vector<std::string> options;  ///< with `--gpu-architecture=sm_…`
  /// Where the source is saved if it doesn't compile; empty: the system's folder for such files.
  std::filesystem::path save_folder = {};
};

struct NvrtcResult {
  std::string ptx;
  std::string cubin;  ///< empty for a virtual architecture (`compute_…`)
  std::string log;    ///< warnings
};

/// NVRTC, loaded on first use. Thread-safe; its C++ front end runs one compilation at a time in a
/// process, its optimiser and assembler run side by side.
class Nvrtc {
 public:
  /// BackendError, each time anew, where the machine has none: it lists every place looked in.
  static const Nvrtc& get();

  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string version() const;  ///< `13.0`
  const std::filesystem::path& path() const { return library_.path(); }
  /// Compute capabilities that it compiles for: 75, 80, 86, … in order.
  std::vector<int> architectures() const;

  /// BackendError with call, code, log, options and the path of the saved source.
  NvrtcResult compile(const NvrtcRequest& request) const;

 private:
  explicit Nvrtc(SharedLibrary library);
  struct Api;
  class Program;
  [[noreturn]] void fail(std::string_view call, int code, const std::string& log,
                         const NvrtcRequest& request) const;

  SharedLibrary library_;
  const Api* api_;  ///< as long as the process
  int major_ = 0;
  int minor_ = 0;
};

}  // namespace tilewire
