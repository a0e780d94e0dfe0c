#include "compiler/jit/nccl_headers.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "compiler/support/files.h"
#include "compiler/support/shared_library.h"

namespace tilewire {
namespace {

namespace fs = std::filesystem;

bool has_headers(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "nccl.h", error) &&
         fs::is_regular_file(folder / "nccl_device.h", error);
}

/// The number that a macro stands for; nothing where the text doesn't define it as one.
std::optional<int> macro_number(const std::string& text, const std::string& name) {
  const std::string define = "#define " + name + " ";
  const auto at = text.find(define);
  if (at == std::string::npos) return std::nullopt;
  const char* begin = text.data() + text.find_first_not_of(' ', at + define.size());
  int number = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

NcclVersion version_of(const std::string& nccl_h, const fs::path& folder) {
  const auto major = macro_number(nccl_h, "NCCL_MAJOR");
  const auto minor = macro_number(nccl_h, "NCCL_MINOR");
  const auto patch = macro_number(nccl_h, "NCCL_PATCH");
  if (!major || !minor || !patch) {
    throw BackendError(
        fmt::format("NCCL headers: {} doesn't say its version", (folder / "nccl.h").string()));
  }
  return {*major, *minor, *patch};
}

NcclFiles read_files(const fs::path& folder) {
  NcclFiles files;
  for (const char* name : {"nccl.h", "nccl_device.h"}) {
    if (auto text = read_file(folder / name)) files.emplace(name, std::move(*text));
  }
  std::error_code error;
  fs::recursive_directory_iterator it(folder / "nccl_device", error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file()) continue;
    if (auto text = read_file(it->path())) {
      files.emplace(it->path().lexically_relative(folder).string(), std::move(*text));
    }
  }
  return files;
}

/// Where a library's headers lie: its installation has `include` beside `lib`, or one or two
/// folders further up (`lib/x86_64-linux-gnu`, `targets/x86_64-linux/lib`).
std::vector<fs::path> folders_beside(const fs::path& library) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const fs::path& file : {library, fs::canonical(library, error)}) {
    fs::path parent = file.parent_path().parent_path();
    for (int i = 0; i < 3 && !parent.empty(); ++i, parent = parent.parent_path()) {
      folders.push_back(parent / "include");
    }
  }
  return folders;
}

struct LoadedNccl {
  fs::path path;
  NcclVersion version;
};

std::optional<LoadedNccl> loaded_nccl() {
  const auto library = loaded_library(nccl_library());
  if (!library) return std::nullopt;
  int code = 0;
  if (const int status = library->function<int (*)(int*)>("ncclGetVersion")(&code); status != 0) {
    throw BackendError(fmt::format("NCCL ({}): ncclGetVersion failed with code {}",
                                   library->path().string(), status));
  }
  return LoadedNccl{library->path(), NcclVersion::from_code(code)};
}

std::shared_ptr<const NcclHeaders> read_once(const fs::path& folder) {
  static std::mutex mutex;
  static std::map<fs::path, std::shared_ptr<const NcclHeaders>> known;
  const std::lock_guard lock(mutex);
  auto& headers = known[folder];
  if (!headers) headers = NcclHeaders::read(folder);
  return headers;
}

[[noreturn]] void fail_not_found(const std::vector<fs::path>& folders) {
  std::string message = "NCCL's device headers (nccl.h, nccl_device.h) not found";
  if (const auto loaded = loaded_nccl()) {
    message += fmt::format("; the NCCL in this process is {} ({})", loaded->version.to_string(),
                           loaded->path.string());
  }
  for (const fs::path& folder : folders) message += "\n  " + folder.string() + ": not there";
  throw BackendError(message + "\n" + nccl_library().remedy);
}

}  // namespace

NcclVersion NcclVersion::from_code(int code) {
  return {code / 10000, code / 100 % 100, code % 100};
}

std::string NcclVersion::to_string() const { return fmt::format("{}.{}.{}", major, minor, patch); }

std::string known_nccl_versions() {
  return fmt::format("{} or newer, below {}", kOldestNccl.to_string(),
                     kFirstUnknownNccl.to_string());
}

struct NcclHeaders::Adapted {
  std::mutex mutex;
  std::map<NcclForm, std::vector<Header>> forms;
};

std::shared_ptr<const NcclHeaders> NcclHeaders::read(const fs::path& include_folder) {
  if (!has_headers(include_folder)) fail_not_found({include_folder});
  const std::shared_ptr<NcclHeaders> headers(new NcclHeaders());
  headers->folder_ = include_folder;
  headers->files_ = read_files(include_folder);
  headers->version_ = version_of(headers->files_["nccl.h"], include_folder);
  headers->adapted_ = std::make_shared<Adapted>();
  if (headers->version_ < kOldestNccl) {
    throw BackendError(fmt::format("NCCL {}'s headers ({}) are too old: {} or newer is needed\n{}",
                                   headers->version_.to_string(), include_folder.string(),
                                   kOldestNccl.to_string(), nccl_library().remedy));
  }
  return headers;
}

const std::vector<Header>& NcclHeaders::headers(NcclForm form) const {
  const std::lock_guard lock(adapted_->mutex);
  auto& adapted = adapted_->forms[form];
  if (adapted.empty()) adapted = adapt_nccl_headers(files_, form);
  return adapted;
}

std::vector<fs::path> nccl_include_folders() {
  std::vector<fs::path> folders;
  const auto add = [&folders](fs::path folder) {
    folder = folder.lexically_normal();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(std::move(folder));
    }
  };
  const Environment& environment = Environment::get();
  if (!environment.nccl_home.empty()) add(environment.nccl_home / "include");
  if (const auto library = locate_library(nccl_library())) {
    for (fs::path& folder : folders_beside(*library)) add(std::move(folder));
  }
  for (const fs::path& library_folder : library_folders(nccl_library())) {
    add(library_folder.parent_path() / "include");
  }
  if (!environment.cuda_home.empty()) add(environment.cuda_home / "include");
  for (const char* common : {"/usr/local/cuda/include", "/usr/local/include", "/usr/include"}) {
    add(common);
  }
  return folders;
}

void require_network_get(const NcclHeaders& headers, const SourceLocation& get) {
  if (headers.has_network_get()) return;
  throw UserError(
      fmt::format(
          "get: NCCL {} ({}) reads no other rank's memory over the network, which NCCL 2.30 "
          "is the first to do: have that rank `put` it, or use a newer NCCL",
          headers.version().to_string(), headers.folder().string()),
      get);
}

void check_nccl_versions(const NcclVersion& headers, const fs::path& header_folder,
                         const NcclVersion& library, const fs::path& library_path) {
  if (headers == library) return;
  throw BackendError(fmt::format(
      "NCCL's headers and library differ: headers {} ({}), library {} ({})\nTheir structs differ "
      "too, so nothing was compiled. Name the folder that the library came from in "
      "TILEWIRE_NCCL_HOME, or install both from one package.",
      headers.to_string(), header_folder.string(), library.to_string(), library_path.string()));
}

std::shared_ptr<const NcclHeaders> NcclHeaders::find() {
  const auto loaded = loaded_nccl();
  const auto folders = nccl_include_folders();
  std::shared_ptr<const NcclHeaders> first;
  for (const fs::path& folder : folders) {
    if (!has_headers(folder)) continue;
    auto headers = read_once(folder);
    if (!loaded || headers->version() == loaded->version) return headers;
    if (!first) first = std::move(headers);
    // What the user named is meant, not one of several to choose from.
    if (first->folder() == Environment::get().nccl_home / "include") break;
  }
  if (!first) fail_not_found(folders);
  check_nccl_versions(first->version(), first->folder(), loaded->version, loaded->path);
  return first;
}

}  // namespace tilewire
