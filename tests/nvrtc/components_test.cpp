#include "compiler/jit/components.h"

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

TEST_CASE("Every component is reported: found, or missing with what to do", "[components]") {
  const auto reports = report_components();
  std::vector<std::string> names;
  for (const ComponentReport& report : reports) {
    INFO(report.name << ": " << report.problem);
    names.push_back(report.name);
    CHECK_FALSE(report.usable_for.empty());
    CHECK(report.problem.empty() == report.remedy.empty());
    CHECK((!report.problem.empty() || !report.found_path.empty() || report.name == "CUDA headers"));
  }
  CHECK(names == std::vector<std::string>{"CUDA driver", "NVRTC", "CUDA headers", "NCCL library",
                                          "NCCL headers", "cache folder", "LLVM"});
}

TEST_CASE("The report says what the libraries say of themselves", "[components]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto headers = nccl_headers_or_null();
  if (!headers) return;
  const auto reports = report_components();
  CHECK(reports.at(1).version == Nvrtc::get().version());
  CHECK(reports.at(1).found_path == Nvrtc::get().path().string());
  CHECK(reports.at(4).version == headers->version().to_string());
  CHECK(reports.at(4).found_path == headers->folder().string());
  CHECK(reports.at(3).version == reports.at(4).version);  // refused otherwise
}
