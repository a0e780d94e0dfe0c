#include "compiler/codegen/cuda/embedded_templates.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "compiler/support/files.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

TEST_CASE("every device header is embedded, byte for byte, sorted by name") {
  const std::filesystem::path root = std::filesystem::path(TILEWIRE_SOURCE_DIR) / "templates";
  std::size_t num_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    num_files += entry.path().extension() == ".cuh" ? 1 : 0;
  }
  const auto files = embedded_templates();
  REQUIRE(num_files > 0);
  REQUIRE(files.size() == num_files);
  CHECK(std::ranges::is_sorted(files, {}, &EmbeddedFile::name));
  for (const EmbeddedFile& file : files) {
    INFO(file.name);
    CHECK(file.text == read_file(root / file.name));
  }
}

}  // namespace
}  // namespace tilewire
