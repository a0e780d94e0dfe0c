#pragma once

#include <compare>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compiler/jit/nccl_adapter.h"
#include "compiler/support/source_location.h"

namespace tilewire {

struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;

  /// From ncclGetVersion's or NCCL_VERSION_CODE's number: 22809 is 2.28.9.
  static NcclVersion from_code(int code);
  int to_code() const { return 10000 * major + 100 * minor + patch; }
  std::string to_string() const;
  auto operator<=>(const NcclVersion&) const = default;
};

/// The first NCCL whose device API tilewire stands on.
inline constexpr NcclVersion kOldestNccl = {2, 28, 7};
/// The first one that nobody has looked at: runtime/nccl/requirements.cpp has a table of the
/// versions before it, and the tests compile against their headers.
inline constexpr NcclVersion kFirstUnknownNccl = {2, 33, 0};
/// `2.28.7 or newer, below 2.33.0`, for messages.
std::string known_nccl_versions();

/// NCCL's headers of one installation, adapted for NVRTC.
class NcclHeaders {
 public:
  /// Those that belong to the NCCL that this process has loaded, or, where it has loaded none, to
  /// the one that it would load, or any found. Read once per folder. BackendError where there are
  /// none (it lists every place looked in), where they are older than `kOldestNccl`, or where their
  /// version isn't the loaded library's (it names both paths and versions): NCCL's structs change
  /// from version to version, and a mixture corrupts memory.
  static std::shared_ptr<const NcclHeaders> find();

  /// Those in one include folder. BackendError where it has none that can be used.
  static std::shared_ptr<const NcclHeaders> read(const std::filesystem::path& include_folder);

  const std::filesystem::path& folder() const { return folder_; }
  const NcclVersion& version() const { return version_; }
  /// Whether kernels can read other ranks' memory over the network.
  bool has_network_get() const { return network_has_get(files_); }
  /// In-memory headers; see `adapt_nccl_headers`. Made on first use.
  const std::vector<Header>& headers(NcclForm form) const;

 private:
  NcclHeaders() = default;

  std::filesystem::path folder_;
  NcclVersion version_;
  NcclFiles files_;
  struct Adapted;
  std::shared_ptr<Adapted> adapted_;
};

/// UserError at a program's `get` where kernels of these headers can't read other ranks' memory
/// over the network.
void require_network_get(const NcclHeaders& headers, const SourceLocation& get);

/// Folders that may hold NCCL's headers, in the order of `NcclHeaders::find`.
std::vector<std::filesystem::path> nccl_include_folders();

/// BackendError if headers of one version are about to be used with a library of another. For the
/// runtime, which knows both.
void check_nccl_versions(const NcclVersion& headers, const std::filesystem::path& header_folder,
                         const NcclVersion& library, const std::filesystem::path& library_path);

}  // namespace tilewire
