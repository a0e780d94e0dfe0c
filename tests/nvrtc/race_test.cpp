#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/jit/compile.h"
#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/programs.h"
#include "tests/nvrtc/require.h"
#include "tests/scratch.h"

namespace fs = std::filesystem;
using namespace tilewire;

// What each process of the race does. Hidden: it runs only where the test below starts it.
TEST_CASE("one process of the race", "[.race]") {
  const Target target = gpu_target();
  CompileReport report;
  const Artifact artifact = compile(allreduce_rmsnorm(target, DType::kBF16, 8192), target, &report);
  REQUIRE(artifact.binary.size() > 1000);
  std::ofstream answer(fs::path(std::getenv("TILEWIRE_TEST_ANSWERS")) / std::to_string(::getpid()));
  answer << (report.from_disk ? "disk " : "built ") << sha256_hex(artifact.binary);
}

TEST_CASE("Eight processes start at once: one compiles, all have the same binary", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  if (!nccl_headers_or_null()) return;
  const ScratchFolder cache;
  const ScratchFolder answers;
  const ScopedVariable shared("TILEWIRE_TEST_CACHE", cache.path().string());
  const ScopedVariable folder("TILEWIRE_TEST_ANSWERS", answers.path().string());
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    std::string program = fs::read_symlink("/proc/self/exe").string();
    std::string filter = "one process of the race";
    char* arguments[] = {program.data(), filter.data(), nullptr};
    pid_t child = 0;
    REQUIRE(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  int num_built = 0;
  std::vector<std::string> digests;
  for (const auto& file : fs::directory_iterator(answers.path())) {
    const std::string answer = read_file(file.path()).value_or("");
    num_built += answer.rfind("built ", 0) == 0 ? 1 : 0;
    digests.push_back(answer.substr(answer.find(' ') + 1));
  }
  REQUIRE(digests.size() == 8);
  for (const std::string& digest : digests) CHECK(digest == digests[0]);
  CHECK(num_built == 1);  // the lock saved seven compilations
}
