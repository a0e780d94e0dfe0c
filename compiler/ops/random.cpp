#include <fmt/format.h>

#include <array>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/philox.h"

namespace tilewire {
namespace {

std::vector<Type> infer_philox(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (type.dtype != DType::kU64) {
    call.fail(fmt::format("seed, counter and stream are u64, got {}", name_of(type.dtype)));
  }
  const std::int64_t word = integer_attribute(call, "word");
  if (word < 0 || word > 3) call.fail(fmt::format("there is no word {}; 0 to 3", word));
  return {type.with_dtype(DType::kU32)};
}

CpuScalar low(ScalarEmitter& scalars, CpuScalar x) { return scalars.cast(x, DType::kU32); }

CpuScalar high(ScalarEmitter& scalars, CpuScalar x) {
  return low(scalars, scalars.shift_right(x, scalars.integer(32, DType::kU64)));
}

CpuScalar product(ScalarEmitter& scalars, CpuScalar x, std::uint32_t factor) {
  return scalars.mul(scalars.cast(x, DType::kU64), scalars.integer(factor, DType::kU64));
}

/// The rounds of `philox` (philox.h) in the code under construction.
CpuScalar emit_philox(ScalarEmitter& scalars, std::span<const CpuScalar> operands,
                      std::int64_t word) {
  std::array<CpuScalar, 4> block = {low(scalars, operands[1]), high(scalars, operands[1]),
                                    low(scalars, operands[2]), high(scalars, operands[2])};
  std::array<CpuScalar, 2> key = {low(scalars, operands[0]), high(scalars, operands[0])};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const CpuScalar first = product(scalars, block[0], kPhiloxFactors[0]);
    const CpuScalar second = product(scalars, block[2], kPhiloxFactors[1]);
    const auto mix = [&](CpuScalar wide, CpuScalar other, CpuScalar own_key) {
      return scalars.bit_xor(scalars.bit_xor(high(scalars, wide), other), own_key);
    };
    block = {mix(second, block[1], key[0]), low(scalars, second), mix(first, block[3], key[1]),
             low(scalars, first)};
    for (std::size_t i = 0; i < key.size(); ++i) {
      key.at(i) = scalars.add(key.at(i), scalars.integer(kPhiloxSteps.at(i), DType::kU32));
    }
  }
  return block.at(static_cast<std::size_t>(word));
}

void emit_cpu_philox(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t word = statement.integer("word");
  emitter.elementwise(statement,
                      [word](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
                        return emit_philox(scalars, operands, word);
                      });
}

void emit_philox_cuda(const Statement& statement, CudaEmitter& emitter) {
  emit_operator(statement, emitter,
                {fmt::format("tw::philox<{}>", statement.integer("word")), "random.cuh"});
}

}  // namespace

OpInfo philox_op() {
  OpInfo op;
  op.name = "philox";
  op.summary = "A 32-bit word of the random block that seed, counter and stream name.";
  op.min_operands = op.max_operands = 3;
  op.is_elementwise = true;
  op.attributes = {{"word", AttributeSpec::Kind::kInteger, true, "which of the four"}};
  op.infer = infer_philox;
  op.emit_cpu = emit_cpu_philox;
  op.emit_cuda = emit_philox_cuda;
  return op;
}

}  // namespace tilewire
