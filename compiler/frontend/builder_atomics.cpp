#include <fmt/format.h>

#include "compiler/frontend/builder.h"
#include "compiler/ops/memory.h"

namespace tilewire {

Value* Builder::atomic(std::string_view kind, Value* view, Operand value,
                       const AtomicOptions& options) {
  return atomic_of(kind, view, {value}, options);
}

Value* Builder::atomic_cas(Value* view, Operand compare, Operand value,
                           const AtomicOptions& options) {
  return atomic_of("cas", view, {value, compare}, options);
}

Value* Builder::atomic_of(std::string_view kind, Value* view, const std::vector<Operand>& values,
                          const AtomicOptions& options) {
  const std::string call = fmt::format("atomic_{}", kind);
  require_place(call, view);
  if (view_op_behind(view, "at") != nullptr && !options.scope.empty() &&
      options.scope != "system") {
    fail(
        fmt::format("{}: scope=\"{}\" at a peer, whose own atomics may meet this one; it needs "
                    "scope=\"system\"",
                    call, options.scope));
  }
  const bool is_reached = view->type.memory == Memory::kWindow && lsa_size() > 1;
  const std::string scope(!options.scope.empty() ? options.scope : is_reached ? "system" : "gpu");
  const bool is_scalar = view->type.shape.empty();
  const Type tile =
      is_scalar ? Type::scalar(view->type.dtype) : Type::tile(view->type.dtype, view->type.shape);
  require_static_shape(call, view);
  Values operands = {view};
  for (const Operand& value : values) operands.push_back(fit(value, tile, "the value"));
  Attributes attributes = {
      {"kind", std::string(kind)}, {"order", std::string(options.order)}, {"scope", scope}};
  if (options.where != nullptr) {
    Value* where = options.where;
    operands.push_back(where->type.is_scalar()
                           ? where
                           : fit(where, Type::tile(DType::kBool, view->type.shape), "where="));
    attributes.emplace("where", true);
  }
  return emit("atomic", std::move(operands), std::move(attributes))->result();
}

}  // namespace tilewire
