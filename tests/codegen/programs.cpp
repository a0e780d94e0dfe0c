#include "tests/codegen/programs.h"

#include <stdexcept>

#include "compiler/codegen/cuda/emit.h"
#include "compiler/frontend/builder.h"
#include "compiler/passes/facts.h"
#include "compiler/passes/lower.h"
#include "tests/codegen/network_programs.h"

namespace tilewire {
namespace {

using Operands = std::vector<Operand>;

/// The first example of the design.
template <std::int64_t kHidden>
Program allreduce_rmsnorm(const Target& target) {
  Builder b("allreduce_rmsnorm", "allreduce_rmsnorm.py", target);
  Value* x = b.window("x", DType::kBF16, {{kDynamic, "T"}, {kHidden, {}}});
  Value* gain = b.tensor("gain", DType::kBF16, {{kHidden, {}}});
  Value* y = b.tensor("y", DType::kBF16, {{kDynamic, "T"}, {kHidden, {}}});
  Value* eps = b.scalar("eps", DType::kF32);
  b.constant_parameter("H", kHidden);
  b.set_location(5, 5);
  b.barrier();
  b.set_location(6, 5);
  b.for_persistent(b.dimension("T"), {}, [&](Value* row, const Values&) -> Operands {
    b.name(row, "row");
    b.set_location(7, 9);
    Value* acc = b.name(b.zeros({kHidden}, DType::kF32), "acc");
    b.set_location(8, 9);
    const Values sums = b.for_ranks({acc}, [&](Value* r, const Values& carried) -> Operands {
      b.set_location(9, 13);
      Value* part = b.load(b.slice(b.at(x, r), {Index::at(row), Index::all()}));
      return {b.name(b.binary("add", carried[0], part), "acc")};
    });
    b.set_location(10, 9);
    Value* squares = b.reduce("sum", b.binary("mul", sums[0], sums[0]));
    Value* scale =
        b.name(b.unary("rsqrt", b.binary("add", b.binary("div", squares, kHidden), eps)), "scale");
    b.set_location(11, 9);
    Value* weight = b.load(b.slice(gain, {Index::all()}));
    Value* scaled = b.binary("mul", b.binary("mul", sums[0], scale), weight);
    b.store(b.slice(y, {Index::at(row), Index::all()}), scaled);
    return {};
  });
  b.set_location(12, 5);
  b.barrier();
  Program program = b.finish();
  program.facts = ordinary_facts(program);
  return program;
}

/// A block of a vector whose length is known at run time only.
Program masked(const Target& target) {
  Builder b("masked", "masked.py", target);
  Value* x = b.tensor("x", DType::kBF16, {{kDynamic, "N"}});
  Value* y = b.tensor("y", DType::kF32, {{kDynamic, "N"}});
  b.constant_parameter("B", std::int64_t{1000});
  b.set_location(4, 5);
  Value* start = b.name(b.binary("mul", b.program_id(0), std::int64_t{1000}), "start");
  b.set_location(5, 5);
  Value* block = b.name(b.load(b.slice(x, {Index::ds(start, 1000)}), 1.0), "block");
  b.set_location(6, 5);
  Value* result = b.cast(b.unary("exp", block), DType::kF32);
  Value* positive = b.binary("gt", block, 0.0);
  b.store(b.slice(y, {Index::ds(start, 1000)}), result, positive);
  Program program = b.finish();
  program.facts = ordinary_facts(program);
  return program;
}

/// Rows and columns anywhere: strides are arguments.
Program strided(const Target& target) {
  Builder b("strided", "strided.py", target);
  Value* x = b.tensor("x", DType::kF16, {{kDynamic, "M"}, {64, {}}});
  Value* y = b.tensor("y", DType::kF16, {{kDynamic, "M"}, {64, {}}});
  b.set_location(4, 5);
  Value* row = b.name(b.program_id(0), "row");
  Value* tile = b.name(
      b.load(b.slice(x, {Index::ds(b.binary("mul", row, std::int64_t{8}), 8), Index::all()})),
      "tile");
  b.set_location(5, 5);
  b.store(b.slice(y, {Index::ds(b.binary("mul", row, std::int64_t{8}), 8), Index::all()}),
          b.binary("mul", tile, tile));
  Program program = b.finish();
  program.facts.contiguous = {false, true};
  program.facts.alignment = {2, 16};
  return program;
}

/// Both branches hand out a tile; a store stands under a condition of its own.
Program branches(const Target& target) {
  Builder b("branches", "branches.py", target);
  Value* x = b.tensor("x", DType::kF32, {{kDynamic, "T"}, {256, {}}});
  Value* threshold = b.scalar("threshold", DType::kF32);
  b.set_location(4, 5);
  Value* row = b.name(b.program_id(0), "row");
  Value* tile = b.name(b.load(b.slice(x, {Index::at(row), Index::all()})), "tile");
  b.set_location(5, 5);
  Value* peak = b.name(b.reduce("max", tile), "peak");
  b.set_location(6, 5);
  const Values chosen = b.if_(
      b.binary("gt", peak, threshold),
      [&]() -> Operands {
        b.set_location(7, 9);
        return {b.name(b.binary("div", tile, peak), "scaled")};
      },
      [&]() -> Operands {
        b.set_location(9, 9);
        return {b.name(b.unary("neg", tile), "scaled")};
      });
  b.set_location(10, 5);
  b.if_(
      b.binary("lt", row, std::int64_t{7}),
      [&]() -> Operands {
        b.set_location(11, 9);
        b.store(b.slice(x, {Index::at(row), Index::all()}), chosen[0]);
        return {};
      },
      [&]() -> Operands { return {}; });
  Program program = b.finish();
  program.facts = ordinary_facts(program);
  return program;
}

/// A loop with a tile and a scalar carried along, a reduction in it, and memory written and read.
Program loop(const Target& target) {
  Builder b("loop", "loop.py", target);
  Value* x = b.tensor("x", DType::kF32, {{kDynamic, "K"}, {512, {}}});
  Value* y = b.tensor("y", DType::kF32, {{512, {}}});
  Value* total_of = b.tensor("total_of", DType::kF32, {{1, {}}});
  b.set_location(4, 5);
  Value* acc = b.name(b.zeros({512}, DType::kF32), "acc");
  b.set_location(5, 5);
  Value* total = b.name(b.constant(0.0, DType::kF32), "total");
  b.set_location(6, 5);
  const Values results =
      b.for_range(std::int64_t{0}, b.dimension("K"), std::int64_t{2}, {acc, total},
                  [&](Value* k, const Values& carried) -> Operands {
                    b.name(k, "k");
                    b.set_location(7, 9);
                    Value* row = b.name(b.load(b.slice(x, {Index::at(k), Index::all()})), "row");
                    b.set_location(8, 9);
                    Value* sum = b.binary("add", carried[1], b.reduce("sum", row));
                    b.set_location(9, 9);
                    return {b.binary("add", carried[0], row), sum};
                  });
  b.set_location(10, 5);
  b.store(b.slice(y, {Index::all()}), results[0]);
  b.set_location(11, 5);
  b.store(b.slice(total_of, {Index::at(std::int64_t{0})}), results[1]);
  Program program = b.finish();
  program.facts = ordinary_facts(program);
  return program;
}

/// A while loop that carries a tile and a scalar, and a return inside it.
Program while_loop(const Target& target) {
  Builder b("while_loop", "while_loop.py", target);
  Value* x = b.tensor("x", DType::kF32, {{kDynamic, "N"}});
  Value* y = b.tensor("y", DType::kF32, {{512, {}}});
  b.set_location(4, 5);
  Value* acc = b.name(b.zeros({512}, DType::kF32), "acc");
  b.set_location(5, 5);
  Value* i = b.name(b.constant(std::int64_t{0}, DType::kI64), "i");
  b.set_location(6, 5);
  const Values results = b.while_(
      {acc, i}, [&](const Values& carried) { return b.binary("lt", carried[1], b.dimension("N")); },
      [&](const Values& carried) -> Operands {
        b.set_location(7, 9);
        Value* part = b.name(b.load(b.slice(x, {Index::ds(carried[1], 512)})), "part");
        b.set_location(8, 9);
        Value* sum = b.name(b.reduce("sum", part), "sum");
        b.set_location(9, 9);
        b.if_(
            b.binary("lt", sum, 0.0),
            [&]() -> Operands {
              b.set_location(10, 13);
              b.return_();
              return {};
            },
            nullptr);
        b.set_location(11, 9);
        Value* next = b.binary("add", carried[0], part);
        b.set_location(12, 9);
        return {next, b.binary("add", carried[1], std::int64_t{512})};
      });
  b.set_location(13, 5);
  b.store(b.slice(y, {Index::all()}), results[0]);
  Program program = b.finish();
  program.facts = ordinary_facts(program);
  return program;
}

/// Softmax over rows of a rank-2 tile: reductions along an axis, broadcasts back, one element out.
Program softmax(const Target& target) {
  Builder b("softmax", "softmax.py", target);
  Value* x = b.tensor("x", DType::kBF16, {{kDynamic, "T"}, {96, {}}});
  Value* y = b.tensor("y", DType::kBF16, {{kDynamic, "T"}, {96, {}}});
  Value* peak_of = b.tensor("peak_of", DType::kBF16, {{kDynamic, "G"}});
  b.constant_parameter("ROWS", std::int64_t{16});
  b.set_location(4, 5);
  Value* id = b.program_id(0);
  Value* first = b.name(b.binary("mul", id, std::int64_t{16}), "first");
  Value* tile = b.name(b.load(b.slice(x, {Index::ds(first, 16), Index::all()})), "tile");
  b.set_location(5, 5);
  Value* peaks = b.name(b.reshape(b.reduce("max", tile, 1), {16, 1}), "peaks");
  Value* e = b.name(
      b.unary("exp", b.cast(b.binary("sub", tile, b.broadcast(peaks, {16, 96})), DType::kF32)),
      "e");
  b.set_location(6, 5);
  Value* sums = b.broadcast(b.reshape(b.reduce("sum", e, 1), {16, 1}), {16, 96});
  b.store(b.slice(y, {Index::ds(first, 16), Index::all()}), b.binary("div", e, sums));
  b.set_location(7, 5);
  b.store(b.slice(peak_of, {Index::at(id)}), b.extract(peaks, {std::int64_t{0}, std::int64_t{0}}));
  Program program = b.finish();
  program.facts = ordinary_facts(program);
  return program;
}

}  // namespace

std::string GoldenProgram::cuda() const {
  const Target parsed = Target::parse(target);
  const Program lowered = is_lowered ? make(parsed) : lower(make(parsed), parsed);
  return emit_cuda_source(lowered, describe(lowered, parsed));
}

const std::vector<GoldenProgram>& golden_programs() {
  static const std::vector<GoldenProgram> programs = {
      {"allreduce_rmsnorm_1", "sm_90a:world=1", allreduce_rmsnorm<8192>},
      {"allreduce_rmsnorm_2", "sm_90a:world=2", allreduce_rmsnorm<8192>},
      {"allreduce_rmsnorm_8", "sm_90a:world=8", allreduce_rmsnorm<8192>},
      {"allreduce_rmsnorm_odd", "sm_90a:world=2", allreduce_rmsnorm<1003>},
      {"masked", "sm_80", masked},
      {"strided", "sm_90a", strided},
      {"branches", "sm_90a", branches},
      {"loop", "sm_90a", loop},
      {"softmax", "sm_100a", softmax},
      {"while_loop", "sm_90a", while_loop},
      {"network_puts_2x4", "sm_90a:world=8,lsa=4,gin=1", network_puts, true},
      {"network_puts_16x8", "sm_100a:world=128,lsa=8,gin=1", network_puts, true},
      {"network_grid_2x4", "sm_90a:world=8,lsa=4,gin=1", network_grid, true},
      {"network_grid_16x8", "sm_80:world=128,lsa=8,gin=1", network_grid, true},
      {"network_channels_2x4", "sm_90a:world=8,lsa=4,gin=1", network_channels, true},
      {"network_channels_16x8", "sm_90a:world=128,lsa=8,gin=1", network_channels, true},
  };
  return programs;
}

const GoldenProgram& golden_program(const std::string& name) {
  for (const GoldenProgram& program : golden_programs()) {
    if (program.name == name) return program;
  }
  throw std::out_of_range("no golden program " + name);
}

}  // namespace tilewire
