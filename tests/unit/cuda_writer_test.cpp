#include "compiler/codegen/cuda/writer.h"

#include "compiler/codegen/cuda/emitter.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {

TEST_CASE("scopes indent, and blank lines don't pile up") {
  Writer writer;
  writer.blank();
  writer.open("if (a)");
  writer.blank();
  writer.line("b();");
  writer.reopen("else");
  writer.line("c();");
  writer.close(";");
  writer.blank();
  writer.blank();
  writer.line("d();");
  CHECK(writer.text() == "if (a) {\n  b();\n} else {\n  c();\n};\n\nd();\n");
}

TEST_CASE("a long line is broken behind the assignment, or between arguments") {
  const std::string argument(40, 'x');
  Writer writer;
  writer.line("const SomeTile " + argument + " = call<A, B>(" + argument + ");");
  CHECK(writer.text() == "const SomeTile " + argument + " =\n    call<A, B>(" + argument + ");\n");
  Writer calls;
  calls.line("call<A, B>(" + argument + ", f(1, 2), " + argument + ");");
  CHECK(calls.text() == "call<A, B>(" + argument + ", f(1, 2),\n    " + argument + ");\n");
}

TEST_CASE("names are unique, and none is a word of the language") {
  UniqueNames names;
  CHECK(names.make("x") == "x");
  CHECK(names.make("x") == "x_2");
  CHECK(names.make("x") == "x_3");
  CHECK(names.make("float") == "float_2");
  CHECK(names.make("comm") == "comm_2");
  CHECK(names.make("größe") == "gr_e");
  CHECK(names.make("2d") == "n2d");
  CHECK(names.make("") == "value");
  CHECK(names.make("__a__b") == "a_b");
}

TEST_CASE("named substitution") {
  CHECK(substitute("{a} + {b} = {{}", {{"a", "1"}, {"b", "2"}}) == "1 + 2 = {}");
  CHECK_THROWS_AS(substitute("{c}", {{"a", "1"}}), InternalError);
  CHECK_THROWS_AS(substitute("{a", {{"a", "1"}}), InternalError);
}

TEST_CASE("literals have the type of their dtype") {
  CHECK(literal(1.0, DType::kF32, true) == "1.0f");
  CHECK(literal(1e-6, DType::kF32, true) == "1e-06f");
  CHECK(literal(0.5, DType::kF64, true) == "0.5");
  CHECK(literal(2.0, DType::kBF16, true) == "tw::cast<tw::bf16>(2.0f)");
  CHECK(literal(std::int64_t{7}, DType::kI64, true) == "int64_t{7}");
  CHECK(literal(std::int64_t{7}, DType::kI64, false) == "7");
  CHECK(literal(std::int64_t{-1}, DType::kU64, false) == "18446744073709551615u");
  CHECK(literal(std::int64_t{-7}, DType::kI32, true) == "-7");
  CHECK(literal(true, DType::kBool, true) == "true");
}

}  // namespace tilewire
