#pragma once

#include <cstdint>
#include <vector>

#include "compiler/frontend/builder.h"

namespace tilewire::test {

/// The all-reduce and RMS norm of the first example, made by the Builder: x, gain, y, eps; its
/// barriers stand at norm.cpp:12 and norm.cpp:20.
inline Program norm_program(DType dtype, std::int64_t num_columns, const Target& target) {
  Builder b("allreduce_rmsnorm", "norm.cpp", target);
  b.set_location(10, 1);
  const Dimension rows{.size = kDynamic, .name = "T"};
  const Dimension columns{.size = num_columns, .name = {}};
  Value* x = b.window("x", dtype, {rows, columns});
  Value* gain = b.tensor("gain", dtype, {columns});
  Value* y = b.tensor("y", dtype, {rows, columns});
  Value* epsilon = b.scalar("eps", DType::kF32);
  b.set_location(12, 5);
  b.barrier();
  b.for_persistent(b.dimension("T"), {}, [&](Value* row, const Values&) -> std::vector<Operand> {
    b.set_location(14, 9);
    const Values sum =
        b.for_ranks({b.zeros({num_columns}, DType::kF32)},
                    [&](Value* rank, const Values& carried) -> std::vector<Operand> {
                      Value* part = b.load(b.slice(b.at(x, rank), {Index::at(row), Index::all()}));
                      return {b.binary("add", carried[0], part)};
                    });
    Value* square = b.reduce("sum", b.binary("mul", sum[0], sum[0]));
    Value* mean = b.binary("div", square, static_cast<double>(num_columns));
    Value* scale = b.unary("rsqrt", b.binary("add", mean, epsilon));
    Value* weight = b.load(b.slice(gain, {Index::all()}));
    b.store(b.slice(y, {Index::at(row), Index::all()}),
            b.binary("mul", b.binary("mul", sum[0], scale), weight));
    return {};
  });
  b.set_location(20, 5);
  b.barrier();
  Program program = b.finish();
  program.constants = {{"H", num_columns}};
  return program;
}

}  // namespace tilewire::test
