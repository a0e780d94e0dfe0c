#include "compiler/passes/legalise_channels.h"

#include <fmt/format.h>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

const ChannelType& channel_of(const Statement& op, const Program& program) {
  const Value* base = parameter_of(op.operands.at(0));
  for (const Parameter& parameter : program.parameters) {
    if (parameter.value == base) return parameter.channel;
  }
  throw InternalError("a slot of no parameter", op.location);
}

/// -0.0 becomes 0.0, as on its way to other ranks.
Value* without_signed_zeros(Value* value, Inserter& insert) {
  Value* zero = insert.constant(0.0, value->type.dtype);
  Value* is_zero = insert.op("eq", {value, zero});
  return insert.op("select", {is_zero, zero, value});
}

/// Floats of 8 bits have no comparison: as bits.
Value* without_signed_zeros_of_bytes(Value* value, Inserter& insert) {
  Value* bits = insert.op("bitcast", {value}, {{"dtype", DType::kU8}});
  Value* is_negative = insert.op("eq", {bits, insert.constant(std::int64_t{0x80}, DType::kU8)});
  Value* plain =
      insert.op("select", {is_negative, insert.constant(std::int64_t{0}, DType::kU8), bits});
  return insert.op("bitcast", {plain}, {{"dtype", value->type.dtype}});
}

}  // namespace

std::optional<std::vector<Value*>> without_message(const Statement& op, const Target& target,
                                                   Inserter& insert) {
  if (target.lsa_size != target.world_size && !target.gin) {
    throw UserError(
        fmt::format(
            "{}: loads and stores reach {} ranks of {} on `{}`, and the communicator has no "
            "network that kernels can use (GIN); supported are ranks that reach each other "
            "(`world={}` alone)",
            op.op->name, target.lsa_size, target.world_size, target.to_string(), target.world_size),
        op.location);
  }
  if (!op.is("exchange") || target.world_size > 1) return {};
  std::vector<Value*> values(op.operands.begin() + 1, op.operands.end());
  if (channel_of(op, insert.program()).carrying != Carrying::kReserved) return values;
  for (Value*& value : values) {
    value = is_fp8(value->type.dtype) ? without_signed_zeros_of_bytes(value, insert)
                                      : without_signed_zeros(value, insert);
  }
  return values;
}

}  // namespace tilewire
