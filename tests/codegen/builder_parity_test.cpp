// The C++ Builder and the Python frontend make the same program: both are compared with one golden
// (`tests/python/test_parity.py` is the other half).
#include "compiler/frontend/builder.h"
#include "compiler/ir/text.h"
#include "compiler/support/files.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

Program allreduce_rmsnorm(std::int64_t h, const Target& target) {
  Builder b("allreduce_rmsnorm", "01_allreduce_rmsnorm.py", target);
  b.constant_parameter("H", h);
  Value* x = b.window("x", DType::kBF16, {{kDynamic, "T"}, {kDynamic, "H"}});
  Value* gain = b.tensor("gain", DType::kBF16, {{kDynamic, "H"}});
  Value* y = b.tensor("y", DType::kBF16, {{kDynamic, "T"}, {kDynamic, "H"}});
  Value* eps = b.scalar("eps", DType::kF32);

  b.barrier();
  b.for_persistent(b.dimension("T"), {}, [&](Value* row, const Values&) -> std::vector<Operand> {
    b.name(row, "row");
    Value* acc = b.name(b.zeros({h}, DType::kF32), "acc");
    acc = b.for_ranks({acc}, [&](Value* r, const Values& carried) -> std::vector<Operand> {
      b.name(r, "r");
      Value* peer = b.slice(b.at(x, r), {Index::at(row), Index::all()});
      return {b.name(b.binary("add", carried[0], b.load(peer)), "acc")};
    })[0];
    Value* mean = b.binary("div", b.reduce("sum", b.binary("mul", acc, acc)), h);
    Value* scale = b.name(b.unary("rsqrt", b.binary("add", mean, eps)), "scale");
    Value* to = b.slice(y, {Index::at(row), Index::all()});
    Value* scaled = b.binary("mul", acc, scale);
    b.store(to, b.binary("mul", scaled, b.load(b.slice(gain, {Index::all()}))));
    return {};
  });
  b.barrier();
  return b.finish();
}

std::string golden() {
  return read_file(TILEWIRE_SOURCE_DIR "/tests/codegen/golden/allreduce_rmsnorm.ir").value_or("");
}

}  // namespace

TEST_CASE("the builder makes the program that the Python frontend makes", "[builder]") {
  const Program program = allreduce_rmsnorm(8192, Target::parse("cpu:world=8"));
  CHECK(print(program, {.locations = false}) == golden());
}

TEST_CASE("the golden program parses back to itself", "[builder]") {
  CHECK(print(parse_program(golden()), {.locations = false}) == golden());
}

}  // namespace tilewire
