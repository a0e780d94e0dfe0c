#include "tests/nvrtc/programs.h"

#include <vector>

#include "compiler/frontend/builder.h"

using namespace tilewire;

namespace {

/// What one instance does with one row.
void emit_row(Builder& b, Value* x, Value* gain, Value* y, Value* eps, Value* row, std::int64_t h) {
  const Values acc = b.for_ranks({b.zeros({h}, DType::kF32)}, [&](Value* r, const Values& carried) {
    Value* part = b.load(b.slice(b.at(x, r), {Index::at(row), Index::all()}));
    return std::vector<Operand>{b.binary("add", carried[0], part)};
  });
  Value* mean = b.binary("div", b.reduce("sum", b.binary("mul", acc[0], acc[0])), h);
  Value* scale = b.unary("rsqrt", b.binary("add", mean, eps));
  Value* scaled = b.binary("mul", b.binary("mul", acc[0], scale), b.load(gain));
  b.store(b.slice(y, {Index::at(row), Index::all()}), scaled);
}

}  // namespace

Program allreduce_rmsnorm(const Target& target, DType dtype, std::int64_t h) {
  Builder b("allreduce_rmsnorm", "allreduce_rmsnorm.py", target);
  b.set_location(5, 5);
  const Dimension rows{kDynamic, "T"};
  const Dimension columns{h, ""};
  Value* x = b.window("x", dtype, {rows, columns});
  Value* gain = b.tensor("gain", dtype, {columns});
  Value* y = b.tensor("y", dtype, {rows, columns});
  Value* eps = b.scalar("eps", DType::kF32);
  b.barrier();
  b.for_persistent(b.dimension("T"), {}, [&](Value* row, const Values&) {
    emit_row(b, x, gain, y, eps, row, h);
    return std::vector<Operand>{};
  });
  b.barrier();
  Program program = b.finish();
  program.facts.contiguous.assign(program.parameters.size(), true);
  program.facts.alignment.assign(program.parameters.size(), 16);
  return program;
}

Target gpu_target(const std::string& architecture, int world_size) {
  return Target::parse(architecture + ":world=" + std::to_string(world_size));
}
