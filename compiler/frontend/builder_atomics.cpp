#include <fmt/format.h>

#include "compiler/frontend/builder.h"

namespace tilewire {
namespace {

/// Whether the view looks at a peer's memory.
bool is_at_peer(const Value* view) {
  for (const Statement* made = view->definition; made != nullptr && !made->operands.empty();
       made = made->operands[0]->definition) {
    if (made->is("at")) return true;
  }
  return false;
}

}  // namespace

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
  if (!view->type.is_view()) {
    fail(
        fmt::format("{}: {} is no place in memory; its first argument is a tensor, a window or a "
                    "part of one",
                    call, view->type.to_string()));
  }
  if (is_at_peer(view) && !options.scope.empty() && options.scope != "system") {
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
  for (std::size_t i = 0; i < view->type.shape.size(); ++i) {
    if (view->type.shape[i] != kDynamic) continue;
    fail(
        fmt::format("{}: dimension {} of {} is known only at run time, a tile's shape is static; "
                    "take a part of it with tw.ds(start, size), or make the extent a tw.const",
                    call, i, view->type.to_string()));
  }
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
