#include "compiler/jit/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "compiler/support/files.h"

namespace tilewire {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kSchema = 1;

json stamp_of(const std::string& bytes) {
  return {{"num_bytes", bytes.size()}, {"sha256", sha256_hex(bytes)}};
}

bool matches(const json& stamp, const std::string& bytes) {
  return stamp.at("num_bytes") == bytes.size() && stamp.at("sha256") == sha256_hex(bytes);
}

/// A folder of this process's own inside the cache, removed with its owner.
class PrivateFolder {
 public:
  explicit PrivateFolder(const fs::path& parent) {
    std::random_device random;
    path_ = parent / fmt::format("{}-{:08x}{:08x}", ::getpid(), random(), random());
    fs::create_directories(parent);
    fs::create_directory(path_);
  }
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Removes what killed processes left behind: no build takes an hour.
void remove_leftovers(const fs::path& building) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(building, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const auto changed = fs::last_write_time(it->path(), ignored);
    if (!ignored && now - changed > std::chrono::hours(1)) fs::remove_all(it->path(), ignored);
  }
}

void warn_once(const fs::path& folder, const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(folder.string()).second) return;
  fmt::print(stderr,
             "tilewire: the cache folder {} can't be written ({}): kernels are compiled anew in "
             "each process; set TILEWIRE_CACHE_DIR to another folder\n",
             folder.string(), reason);
}

}  // namespace

CacheKey& CacheKey::add(std::string_view label, std::string_view bytes) {
  digest_.update(fmt::format("{}:{}={}:", label.size(), label, bytes.size())).update(bytes);
  return *this;
}

std::string CacheKey::hex() { return digest_.hex_digest(); }

fs::path DiskCache::path(const std::string& key, std::string_view suffix) const {
  return folder_ / key.substr(0, 2) / (key + std::string(suffix));
}

fs::path DiskCache::source_path(const std::string& key, const CacheFormat& format) const {
  return path(key, format.source_suffix);
}

std::optional<CacheEntry> DiskCache::load(const std::string& key, const CacheFormat& format) const {
  if (!is_on()) return std::nullopt;
  auto binary = read_file(path(key, format.binary_suffix));
  if (!binary) return std::nullopt;
  auto source = read_file(path(key, format.source_suffix));
  const auto text = read_file(path(key, ".json"));
  if (!source || !text) return std::nullopt;
  try {
    const json entry = json::parse(*text);
    if (entry.at("schema") != kSchema || entry.at("key") != key) return std::nullopt;
    if (!matches(entry.at("binary"), *binary) || !matches(entry.at("source"), *source)) {
      return std::nullopt;
    }
    return CacheEntry{std::move(*source), std::move(*binary), entry.at("description").dump()};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

bool DiskCache::publish(const std::string& key, const CacheFormat& format,
                        const CacheEntry& entry) const {
  if (!is_on()) return false;
  const json description = entry.description.empty() ? json() : json::parse(entry.description);
  const json stamped = {{"schema", kSchema},
                        {"key", key},
                        {"source", stamp_of(entry.source)},
                        {"binary", stamp_of(entry.binary)},
                        {"description", description}};
  try {
    remove_leftovers(folder_ / "building");
    const PrivateFolder building(folder_ / "building");
    fs::create_directories(path(key, "").parent_path());
    const auto make = [&](std::string_view suffix, std::string_view bytes) {
      const fs::path made = building.path() / (key + std::string(suffix));
      write_file_durably(made, bytes);
      return std::pair(made, path(key, suffix));
    };
    const auto source = make(format.source_suffix, entry.source);
    const auto stamp = make(".json", stamped.dump(2) + "\n");
    const auto binary = make(format.binary_suffix, entry.binary);
    for (const auto& [from, to] : {source, stamp, binary}) publish_file(from, to);
    return true;
  } catch (const std::system_error& error) {  // fs::filesystem_error is one
    warn_once(folder_, error.what());
    return false;
  }
}

DiskCache::Lock::Lock(const DiskCache& cache, const std::string& key, double patience_s) {
  if (!cache.is_on()) return;
  std::error_code error;
  const fs::path folder = cache.folder() / "locks";
  fs::create_directories(folder, error);
  // At most 256 files, which stay: what counts is who holds one, not whether it exists.
  descriptor_ = ::open((folder / key.substr(0, 2)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) return;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(patience_s);
  auto pause = std::chrono::microseconds(200);
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() >= deadline) {
      ::close(descriptor_);
      descriptor_ = -1;
      return;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
}

DiskCache::Lock::~Lock() {
  if (descriptor_ < 0) return;
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

}  // namespace tilewire
