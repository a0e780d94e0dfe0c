#include "compiler/jit/cache.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/scratch.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

const std::string kKey(64, 'a');

CacheEntry entry_of(const std::string& binary) {
  return {.source = "source text\n", .binary = binary, .description = R"({"kernel":"k"})"};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& file : fs::directory_iterator(folder)) names.push_back(file.path().filename());
  return names;
}

}  // namespace

TEST_CASE("No two lists of key parts feed the same bytes", "[cache]") {
  CHECK(CacheKey().add("a", "bc").hex() == CacheKey().add("a", "bc").hex());
  CHECK(CacheKey().add("a", "bc").hex() != CacheKey().add("ab", "c").hex());
  CHECK(CacheKey().add("a", "b").add("c", "").hex() != CacheKey().add("a", "").add("c", "b").hex());
  CHECK(CacheKey().add("a", "1").add("b", "2").hex() != CacheKey().add("a", "11:b=1:2").hex());
  CHECK(CacheKey().add("a", "").hex() != CacheKey().hex());
}

TEST_CASE("An entry comes back as it was, in files that any tool can open", "[cache]") {
  const ScratchFolder scratch;
  const DiskCache cache(scratch.path() / "made" / "on" / "demand");
  CHECK_FALSE(cache.load(kKey, kCubinFormat));
  const std::string binary("\0cubin\xff", 7);
  REQUIRE(cache.publish(kKey, kCubinFormat, entry_of(binary)));
  const auto loaded = cache.load(kKey, kCubinFormat);
  REQUIRE(loaded);
  CHECK(loaded->binary == binary);
  CHECK(loaded->source == "source text\n");
  CHECK(nlohmann::json::parse(loaded->description).at("kernel") == "k");
  CHECK(read_file(cache.source_path(kKey, kCubinFormat)) == "source text\n");
  CHECK(read_file(cache.folder() / "aa" / (kKey + ".cubin")) == binary);
  CHECK(names_in(cache.folder() / "building").empty());
  CHECK(names_in(cache.folder() / "aa").size() == 3);
}

TEST_CASE("A damaged entry counts as absent and is replaced", "[cache]") {
  const ScratchFolder scratch;
  const DiskCache cache(scratch.path());
  const std::string binary(1000, 'b');
  const auto file = [&](const char* suffix) { return scratch.path() / "aa" / (kKey + suffix); };
  for (const char* suffix : {".cubin", ".json", ".cu"}) {
    REQUIRE(cache.publish(kKey, kCubinFormat, entry_of(binary)));
    const auto whole = read_file(file(suffix));
    REQUIRE(whole);
    for (const std::size_t length : {std::size_t{0}, whole->size() / 2, whole->size() - 1}) {
      INFO(suffix << " cut to " << length);
      std::ofstream(file(suffix), std::ios::binary) << whole->substr(0, length);
      // The JSON without its last line feed says the same.
      const bool same = std::string(suffix) == ".json" && length == whole->size() - 1;
      CHECK(cache.load(kKey, kCubinFormat).has_value() == same);
    }
    std::string flipped = *whole;
    flipped[flipped.size() / 2] ^= 1;
    std::ofstream(file(suffix), std::ios::binary) << flipped;
    CHECK_FALSE(cache.load(kKey, kCubinFormat));
    fs::remove(file(suffix));
    CHECK_FALSE(cache.load(kKey, kCubinFormat));
    REQUIRE(cache.publish(kKey, kCubinFormat, entry_of(binary)));
    CHECK(cache.load(kKey, kCubinFormat));
  }
}

TEST_CASE("An entry under another key's name counts as absent", "[cache]") {
  const ScratchFolder scratch;
  const DiskCache cache(scratch.path());
  REQUIRE(cache.publish(kKey, kCubinFormat, entry_of("x")));
  const std::string other = "aa" + std::string(62, 'c');
  for (const char* suffix : {".cubin", ".json", ".cu"}) {
    fs::copy_file(scratch.path() / "aa" / (kKey + suffix),
                  scratch.path() / "aa" / (other + suffix));
  }
  CHECK_FALSE(cache.load(other, kCubinFormat));
}

TEST_CASE("A folder that can't be written turns into no cache", "[cache]") {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "file") << "in the way";
  const DiskCache cache(scratch.path() / "file" / "cache");
  CHECK_FALSE(cache.publish(kKey, kCubinFormat, entry_of("x")));
  CHECK_FALSE(cache.load(kKey, kCubinFormat));
  CHECK_FALSE(DiskCache::Lock(cache, kKey).is_held());
  const DiskCache off{fs::path()};
  CHECK_FALSE(off.publish(kKey, kCubinFormat, entry_of("x")));
  CHECK_FALSE(off.load(kKey, kCubinFormat));
}

TEST_CASE("What a killed process left behind is removed in time", "[cache]") {
  const ScratchFolder scratch;
  const auto old_folder = scratch.path() / "building" / "1-dead";
  const auto new_folder = scratch.path() / "building" / "2-alive";
  fs::create_directories(old_folder);
  fs::create_directories(new_folder);
  fs::last_write_time(old_folder, fs::file_time_type::clock::now() - std::chrono::hours(2));
  REQUIRE(DiskCache(scratch.path()).publish(kKey, kCubinFormat, entry_of("x")));
  CHECK_FALSE(fs::exists(old_folder));
  CHECK(fs::exists(new_folder));
}

namespace {

/// Publishes and reads one key until it is killed or has done `rounds`. Ends with 0 if everything
/// it read was one of the two whole entries that writers publish.
[[noreturn]] void race(const fs::path& folder, int seed, int rounds) {
  const DiskCache cache(folder);
  const std::string binaries[2] = {std::string(70'000, 'x'), std::string(50'000, 'y')};
  for (int i = 0; i < rounds; ++i) {
    if (!cache.publish(kKey, kCubinFormat, entry_of(binaries[(seed + i) % 2]))) ::_exit(1);
    const auto loaded = cache.load(kKey, kCubinFormat);
    if (loaded && loaded->binary != binaries[0] && loaded->binary != binaries[1]) ::_exit(2);
  }
  ::_exit(0);
}

}  // namespace

TEST_CASE("Eight processes race for one entry, one is killed", "[cache]") {
  const ScratchFolder scratch;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    if (child == 0) race(scratch.path(), i, i == 7 ? 1'000'000 : 25);
    REQUIRE(child > 0);
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  ::kill(children.back(), SIGKILL);
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (child == children.back()) {
      CHECK(WIFSIGNALED(status));
    } else {
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
  }
  // Two writers may have left a mix, which counts as absent; whoever compiles next repairs it.
  const DiskCache cache(scratch.path());
  REQUIRE(cache.publish(kKey, kCubinFormat, entry_of("z")));
  CHECK(cache.load(kKey, kCubinFormat)->binary == "z");
  CHECK(names_in(scratch.path() / "aa").size() == 3);
  CHECK(names_in(scratch.path() / "building").size() <= 1);  // the killed one's, for an hour
}

TEST_CASE("A lock keeps others out and is freed with its process", "[cache]") {
  const ScratchFolder scratch;
  const DiskCache cache(scratch.path());
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const DiskCache::Lock lock(cache, kKey);
    const char held = lock.is_held() ? 1 : 0;
    if (::write(ready[1], &held, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char held = 0;
  REQUIRE(::read(ready[0], &held, 1) == 1);
  CHECK(held == 1);
  CHECK_FALSE(DiskCache::Lock(cache, kKey, 0.02).is_held());
  CHECK(DiskCache::Lock(cache, std::string(64, 'b'), 0.02).is_held());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(DiskCache::Lock(cache, kKey, 5.0).is_held());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("A lock works between threads of one process", "[cache]") {
  const ScratchFolder scratch;
  const DiskCache cache(scratch.path());
  const DiskCache::Lock lock(cache, kKey);
  REQUIRE(lock.is_held());
  bool other = true;
  std::thread([&] { other = DiskCache::Lock(cache, kKey, 0.02).is_held(); }).join();
  CHECK_FALSE(other);
}
