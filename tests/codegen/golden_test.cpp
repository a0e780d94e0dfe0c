#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/codegen/programs.h"

namespace tilewire {
namespace {

std::filesystem::path golden_path(const std::string& name) {
  return std::filesystem::path(TILEWIRE_SOURCE_DIR) / "tests/codegen/golden" / (name + ".cu");
}

}  // namespace

// TILEWIRE_REFRESH_GOLDENS=1 writes them anew; review the difference like code.
TEST_CASE("the CUDA text of each program is its golden") {
  const bool refresh = std::getenv("TILEWIRE_REFRESH_GOLDENS") != nullptr;
  for (const GoldenProgram& program : golden_programs()) {
    INFO(program.name);
    const std::string text = program.cuda();
    if (refresh) std::ofstream(golden_path(program.name), std::ios::binary) << text;
    CHECK(text == read_file(golden_path(program.name)));
  }
}

TEST_CASE("equal programs give equal bytes") {
  for (const GoldenProgram& program : golden_programs()) {
    INFO(program.name);
    CHECK(program.cuda() == program.cuda());
  }
}

}  // namespace tilewire
