#include <string>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/scratch.h"

namespace {

std::string message_of(const std::string& name, const std::string& value) {
  const ScopedVariable variable(name, value);
  try {
    tilewire::Environment::read();
  } catch (const tilewire::UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("A bad environment variable is named with its value and what is expected", "[error]") {
  CHECK(message_of("TILEWIRE_TIMEOUT", "soon") ==
        "environment variable TILEWIRE_TIMEOUT='soon': expected a number of seconds above 0 and at "
        "most 1e9, like 600 or 2.5");
  CHECK(message_of("TILEWIRE_SEED", "-1") ==
        "environment variable TILEWIRE_SEED='-1': expected an integer from 0 to "
        "18446744073709551615");
  for (const char* value : {"0", "four", "1025"}) {
    CHECK(message_of("TILEWIRE_GIN_CONTEXTS", value) ==
          "environment variable TILEWIRE_GIN_CONTEXTS='" + std::string(value) +
              "': expected an integer from 1 to 1024");
  }
  CHECK(message_of("TILEWIRE_CHECK", "yes") ==
        "environment variable TILEWIRE_CHECK='yes': expected 0 or 1");
  CHECK(message_of("TILEWIRE_DUMP", "cuda,sas") ==
        "environment variable TILEWIRE_DUMP='cuda,sas': expected stages out of ir, passes, cuda, "
        "ptx, cubin, llvm, object, separated by commas");
}

TEST_CASE("Numbers of seconds that can't be waited are refused", "[error]") {
  for (const char* value : {"0", "-3", "nan", "inf", "1e10", "5s", "1 2"}) {
    CHECK(message_of("TILEWIRE_REPORT_AFTER", value) != "no error");
    CHECK(message_of("TILEWIRE_TIMEOUT", value) != "no error");
  }
  CHECK(message_of("TILEWIRE_SEED", "18446744073709551616") != "no error");
}
