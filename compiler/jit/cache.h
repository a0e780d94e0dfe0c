#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/support/sha256.h"

namespace tilewire {

/// Makes a cache key: SHA-256 over labelled parts, each with its length in front, so that no two
/// lists of parts feed the same bytes.
class CacheKey {
 public:
  CacheKey& add(std::string_view label, std::string_view bytes);
  std::string hex();  ///< the key is spent afterwards

 private:
  Sha256 digest_;
};

/// What an entry consists of, and how its files' names end.
struct CacheFormat {
  std::string_view source_suffix;  ///< `.cu`
  std::string_view binary_suffix;  ///< `.cubin`
};
inline constexpr CacheFormat kCubinFormat = {".cu", ".cubin"};
inline constexpr CacheFormat kPtxFormat = {".cu", ".ptx"};
inline constexpr CacheFormat kObjectFormat = {".ll", ".o"};

struct CacheEntry {
  std::string source;
  std::string binary;
  std::string description;  ///< JSON: what it is, for people and tools
};

/// Compiled kernels on disk, shared by any number of processes. An entry is three files that any
/// tool can open, `<folder>/<xx>/<key>.json`, `.cu`, `.cubin` (xx: the key's first two digits);
/// the JSON holds length and digest of the others.
///
/// Publishing: written in a folder of its own, synced, then each file renamed into place, the
/// binary last. Whoever reads checks lengths and digests, so what is torn, truncated or mixed of
/// two writers counts as absent and is replaced. No lock is needed for that; `Lock` only saves
/// work, and the kernel frees it with its process.
class DiskCache {
 public:
  /// An empty folder turns the cache off: nothing is found, nothing kept.
  explicit DiskCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  bool is_on() const { return !folder_.empty(); }

  /// Nothing where there is no entry or a damaged one. Never throws for what lies on the disk.
  std::optional<CacheEntry> load(const std::string& key, const CacheFormat& format) const;

  /// Whether the entry is on disk now. Where the folder can't be written, says so once per process
  /// and folder on standard error.
  bool publish(const std::string& key, const CacheFormat& format, const CacheEntry& entry) const;

  /// Where the entry's source lies, published or not.
  std::filesystem::path source_path(const std::string& key, const CacheFormat& format) const;

  /// Held while an entry is being made, so that others who want it wait instead of working.
  class Lock {
   public:
    /// Waits at most `patience_s`, then goes on without. Never throws.
    Lock(const DiskCache& cache, const std::string& key, double patience_s = 120.0);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    bool is_held() const { return descriptor_ >= 0; }

   private:
    int descriptor_ = -1;
  };

 private:
  std::filesystem::path path(const std::string& key, std::string_view suffix) const;

  std::filesystem::path folder_;
};

}  // namespace tilewire
