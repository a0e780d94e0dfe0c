#include "compiler/jit/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <mutex>

#include "compiler/support/error.h"
#include "compiler/support/sha256.h"

namespace tilewire {

/// NVRTC's functions, with the C types of its header (nvrtcResult is an int, 0 is success;
/// nvrtcProgram is a pointer).
struct Nvrtc::Api {
  using Handle = void*;
  int (*version)(int*, int*);
  const char* (*error_string)(int);
  int (*num_architectures)(int*);
  int (*architectures)(int*);
  int (*create)(Handle*, const char* source, const char* name, int num_headers,
                const char* const* headers, const char* const* names);
  int (*destroy)(Handle*);
  int (*compile)(Handle, int num_options, const char* const* options);
  int (*log_size)(Handle, std::size_t*);
  int (*log)(Handle, char*);
  int (*ptx_size)(Handle, std::size_t*);
  int (*ptx)(Handle, char*);
  int (*cubin_size)(Handle, std::size_t*);
  int (*cubin)(Handle, char*);

  explicit Api(const SharedLibrary& library) {
    const auto load = [&library]<typename F>(F& function, const char* symbol) {
      function = library.function<F>(symbol);
    };
    load(version, "nvrtcVersion");
    load(error_string, "nvrtcGetErrorString");
    load(num_architectures, "nvrtcGetNumSupportedArchs");
    load(architectures, "nvrtcGetSupportedArchs");
    load(create, "nvrtcCreateProgram");
    load(destroy, "nvrtcDestroyProgram");
    load(compile, "nvrtcCompileProgram");
    load(log_size, "nvrtcGetProgramLogSize");
    load(log, "nvrtcGetProgramLog");
    load(ptx_size, "nvrtcGetPTXSize");
    load(ptx, "nvrtcGetPTX");
    load(cubin_size, "nvrtcGetCUBINSize");
    load(cubin, "nvrtcGetCUBIN");
  }
};

/// One nvrtcProgram, destroyed with its owner.
class Nvrtc::Program {
 public:
  Program(const Api& api, const NvrtcRequest& request) : api_(api) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const Header& header : request.headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    status_ = api_.create(&handle_, request.source.c_str(), request.name.c_str(),
                          static_cast<int>(names.size()), texts.data(), names.data());
  }
  ~Program() {
    if (handle_ != nullptr) api_.destroy(&handle_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int status() const { return status_; }

  int compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    return api_.compile(handle_, static_cast<int>(texts.size()), texts.data());
  }

  /// The bytes that a pair of NVRTC's functions gives; empty where they give none.
  std::string bytes(int (*size_of)(Api::Handle, std::size_t*), int (*get)(Api::Handle, char*)) {
    std::size_t size = 0;
    if (size_of(handle_, &size) != 0 || size == 0) return {};
    std::string result(size, '\0');
    if (get(handle_, result.data()) != 0) return {};
    return result;
  }

  /// The same for texts, which NVRTC ends with a zero byte.
  std::string text(int (*size_of)(Api::Handle, std::size_t*), int (*get)(Api::Handle, char*)) {
    std::string result = bytes(size_of, get);
    while (!result.empty() && result.back() == '\0') result.pop_back();
    return result;
  }

 private:
  const Api& api_;
  Api::Handle handle_ = nullptr;
  int status_ = 0;
};

namespace {

/// Where the text now lies for its author to look at, or why it doesn't.
std::string save_source(const NvrtcRequest& request) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = request.save_folder;
  if (folder.empty() || (fs::create_directories(folder, error), error)) {
    folder = fs::temp_directory_path(error);
  }
  const fs::path path =
      folder / fmt::format("tilewire-failed-{}.cu", sha256_hex(request.source).substr(0, 16));
  std::ofstream file(path, std::ios::binary);
  file << request.source;
  file.close();
  return file ? path.string() : fmt::format("nowhere ({} can't be written)", path.string());
}

/// NVRTC opens this library by its bare name when it first compiles, which only the loader's path
/// would find. One that lies beside NVRTC, as in Python wheels, is loaded first; the name then
/// means that one. It stays loaded. Where there is none, NVRTC finds its own or says so.
void load_builtins(const std::filesystem::path& nvrtc, int major, int minor) {
  const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  dlopen((nvrtc.parent_path() / name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

Nvrtc::Nvrtc(SharedLibrary library) : library_(std::move(library)), api_(new Api(library_)) {
  if (const int code = api_->version(&major_, &minor_); code != 0) {
    throw BackendError(fmt::format("NVRTC ({}): nvrtcVersion failed with code {}: {}",
                                   path().string(), code, api_->error_string(code)));
  }
  if (major_ != 12 && major_ != 13) {
    throw BackendError(fmt::format("NVRTC ({}) is version {}: 12 and 13 are supported",
                                   path().string(), version()));
  }
  load_builtins(path(), major_, minor_);
}

const Nvrtc& Nvrtc::get() {
  static std::mutex mutex;
  static std::unique_ptr<const Nvrtc> instance;  // stays null where loading failed
  const std::lock_guard lock(mutex);
  if (!instance) instance.reset(new Nvrtc(load_library(nvrtc_library())));
  return *instance;
}

std::string Nvrtc::version() const { return fmt::format("{}.{}", major_, minor_); }

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  if (api_->num_architectures(&count) != 0) return {};
  std::vector<int> result(static_cast<std::size_t>(count));
  if (api_->architectures(result.data()) != 0) return {};
  return result;
}

void Nvrtc::fail(std::string_view call, int code, const std::string& log,
                 const NvrtcRequest& request) const {
  throw BackendError(fmt::format(
      "NVRTC {} ({}): {} failed with code {}: {}\noptions: {}\nsource: {}\n{}", version(),
      path().string(), call, code, api_->error_string(code), fmt::join(request.options, " "),
      save_source(request), log.empty() ? "no log" : log));
}

NvrtcResult Nvrtc::compile(const NvrtcRequest& request) const {
  Program program(*api_, request);
  if (program.status() != 0) fail("nvrtcCreateProgram", program.status(), {}, request);
  const int code = program.compile(request.options);
  NvrtcResult result;
  result.log = program.text(api_->log_size, api_->log);
  if (code != 0) fail("nvrtcCompileProgram", code, result.log, request);
  result.ptx = program.text(api_->ptx_size, api_->ptx);
  result.cubin = program.bytes(api_->cubin_size, api_->cubin);
  return result;
}

}  // namespace tilewire
