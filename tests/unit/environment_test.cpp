#include "compiler/support/environment.h"

#include <string>
#include <vector>

#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/scratch.h"

using tilewire::Environment;

namespace {

/// First column of the table in docs/environment.md.
std::vector<std::string> documented_variables() {
  const auto text = tilewire::read_file(TILEWIRE_SOURCE_DIR "/docs/environment.md");
  REQUIRE(text);
  std::vector<std::string> names;
  const std::string row = "\n| `";
  for (auto at = text->find(row); at != std::string::npos; at = text->find(row, at)) {
    at += row.size();
    names.push_back(text->substr(at, text->find('`', at) - at));
  }
  return names;
}

}  // namespace

TEST_CASE("docs/environment.md lists every variable, in order", "[environment]") {
  std::vector<std::string> read;
  for (const auto name : Environment::variable_names()) read.emplace_back(name);
  CHECK(documented_variables() == read);
}

TEST_CASE("Environment variables are read as documented", "[environment]") {
  const ScopedVariable dump("TILEWIRE_DUMP", "ir,cuda,,ptx");
  const ScopedVariable timeout("TILEWIRE_TIMEOUT", "2.5");
  const ScopedVariable seed("TILEWIRE_SEED", "18446744073709551615");
  const ScopedVariable site("TILEWIRE_SITE_PACKAGES", "/a:/b");
  const ScopedVariable ours("TILEWIRE_CUDA_HOME", "/ours");
  const ScopedVariable theirs("CUDA_HOME", "/theirs");
  const Environment environment = Environment::read();
  CHECK(environment.dump == std::vector<std::string>{"ir", "cuda", "ptx"});
  CHECK(environment.timeout_s == 2.5);
  CHECK(environment.report_after_s == 1.25);  // at most half of the timeout
  CHECK(environment.seed == 18446744073709551615u);
  CHECK(environment.site_packages == std::vector<std::filesystem::path>{"/a", "/b"});
  CHECK(environment.cuda_home == "/ours");
  CHECK(environment.gin_contexts == 4);
  CHECK(environment.gin_signals == 32768);
}

TEST_CASE("Counts of the network's resources are at least 1", "[environment]") {
  const ScopedVariable contexts("TILEWIRE_GIN_CONTEXTS", "16");
  const ScopedVariable signals("TILEWIRE_GIN_SIGNALS", "1024");
  CHECK(Environment::read().gin_contexts == 16);
  CHECK(Environment::read().gin_signals == 1024);
  const ScopedVariable none("TILEWIRE_GIN_CONTEXTS", "0");
  CHECK_THROWS_WITH(Environment::read(),
                    "environment variable TILEWIRE_GIN_CONTEXTS='0': expected an integer from 1 to "
                    "1024");
}

TEST_CASE("What NCCL is told is seen", "[environment]") {
  const ScopedVariable multicast("NCCL_NVLS_ENABLE", "0");
  const ScopedVariable network("NCCL_GIN_ENABLE", std::nullopt);
  CHECK(Environment::read().nccl_nvls_enable == "0");
  CHECK(Environment::read().nccl_gin_enable.empty());
}

TEST_CASE("The cache folder follows its variables", "[environment]") {
  const ScopedVariable home("HOME", "/home/user");
  const ScopedVariable none("TILEWIRE_CACHE_DIR", std::nullopt);
  const ScopedVariable xdg("XDG_CACHE_HOME", std::nullopt);
  CHECK(Environment::read().cache_dir == "/home/user/.cache/tilewire");
  {
    const ScopedVariable set("XDG_CACHE_HOME", "/x");
    CHECK(Environment::read().cache_dir == "/x/tilewire");
    const ScopedVariable ours("TILEWIRE_CACHE_DIR", "/y");
    CHECK(Environment::read().cache_dir == "/y");
  }
  const ScopedVariable off("TILEWIRE_CACHE_DIR", "");
  CHECK(Environment::read().cache_dir.empty());
}
