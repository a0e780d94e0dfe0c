#include <regex>

#include "compiler/codegen/cpu/llvm_object.h"
#include "compiler/support/error.h"
#include "runtime/cpu/object_loader.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

const char* const kText = R"(
declare float @expf(float)
define void @entry(ptr %instance, ptr %arguments) uwtable {
  %place = load ptr, ptr %arguments
  %x = load float, ptr %place
  %y = call float @expf(float %x)
  store float %y, ptr %place
  ret void
}
)";

TEST_CASE("an object links against the runtime's functions and runs", "[cpu]") {
  const std::string object = compile_llvm_text(kText);
  CHECK(object == compile_llvm_text(kText));
  const LoadedObject loaded = load_object(object, "entry", "kernel");
  float x = 1.0F;
  void* argument = &x;
  reinterpret_cast<void (*)(void*, void*)>(loaded.entry)(nullptr, &argument);
  CHECK(x == Approx(2.7182818));
}

TEST_CASE("what can't be compiled or linked is a BackendError", "[cpu]") {
  CHECK_THROWS_AS(compile_llvm_text("define nonsense"), BackendError);
  const std::string object = compile_llvm_text(kText);
  CHECK_THROWS_AS(load_object(object, "other", "kernel"), BackendError);
  CHECK_THROWS_AS(load_object("no object file", "entry", "kernel"), BackendError);
  CHECK_THROWS_AS(load_object(object.substr(0, object.size() / 2), "entry", "kernel"),
                  BackendError);
  const std::string unknown =
      compile_llvm_text(std::regex_replace(kText, std::regex("expf"), "no_such_function"));
  CHECK_THROWS_WITH(load_object(unknown, "entry", "kernel"),
                    Catch::Matchers::Contains("no_such_function"));
}

}  // namespace
}  // namespace tilewire
