#include "compiler/support/error.h"
#include "runtime/driver/driver.h"
#include "tests/catch.h"

using namespace tilewire;

TEST_CASE("no GPU where the target needs one: says what is missing and what needs none") {
  std::string message;
  try {
    if (Device::count() > 0) {
      WARN("skipped: this machine has a GPU");
      return;
    }
  } catch (const BackendError& error) {
    message = error.message();
  }
  CHECK_THAT(message, test::contains("CUDA driver"));
  CHECK_THAT(message, test::contains(
                          "a target sm_… needs an NVIDIA GPU and its driver; the CPU target needs "
                          "neither (tw.init(virtual=\"2\") makes a world of 2 ranks on the CPU)"));
  CHECK_THROWS_AS(Device::get(0), BackendError);
}
