#include <fmt/format.h>

#include "compiler/frontend/builder.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/multimem.h"

namespace tilewire {

void Builder::require_place(std::string_view call, const Value* view) const {
  if (!view->type.is_view()) {
    fail(
        fmt::format("{}: {} is no place in memory; its first argument is a tensor, a window or a "
                    "part of one",
                    call, view->type.to_string()));
  }
}

void Builder::require_static_shape(std::string_view call, const Value* view) const {
  for (std::size_t i = 0; i < view->type.shape.size(); ++i) {
    if (view->type.shape[i] != kDynamic) continue;
    fail(
        fmt::format("{}: dimension {} of {} is known only at run time, a tile's shape is static; "
                    "take a part of it with tw.ds(start, size), or make the extent a tw.const",
                    call, i, view->type.to_string()));
  }
}

Value* Builder::source_for(std::string_view call, Value* view, const Operand& source) {
  require_place(call, view);
  auto* const* given = std::get_if<Value*>(&source);
  if (given != nullptr && (*given)->type.is_view()) return *given;
  require_static_shape(call, view);
  const Type type = view->type.shape.empty() ? Type::scalar(view->type.dtype)
                                             : Type::tile(view->type.dtype, view->type.shape);
  return fit(source, type, "the source");
}

void Builder::require_whole_window(std::string_view call, const Value* view) {
  if (!view->type.is_view() || view->type.memory != Memory::kWindow) {
    fail(fmt::format("{}: takes a window or a part of one, of which each rank has a copy; found {}",
                     call, view->type.to_string()));
  }
  if (view_op_behind(view, "at") != nullptr) {
    fail(fmt::format("{}: means all ranks' copies: leave .at(…) out", call));
  }
}

void Builder::put(Value* view, Operand source) {
  emit("put", {view, source_for("put", view, source)});
}

void Builder::put_value(Value* view, Operand value) {
  auto* const* given = std::get_if<Value*>(&value);
  if (view->type.is_view() && given != nullptr && !(*given)->type.is_scalar()) {
    fail(fmt::format("put_value: the value is {}, a scalar is needed; use tw.put",
                     (*given)->type.to_string()));
  }
  emit("put_value", {view, source_for("put_value", view, value)});
}

void Builder::get(Value* view, Value* source) {
  for (const Value* each : {view, source}) {
    if (each->type.is_view()) continue;
    fail(fmt::format("get: moves what a view holds to a view, found {}", each->type.to_string()));
  }
  emit("get", {view, source});
}

void Builder::flush() { emit("flush", {}); }

void Builder::accumulate(Value* view, Operand value) {
  if (view->type.is_view() && multicast_behind(view) != nullptr) {
    reduce_store(view, std::move(value));
    return;
  }
  if (view->type.is_view()) {
    atomic("add", view, value, {.order = "relaxed"});
    return;
  }
  source_for("add", view, value);  // says what is wrong
}

Value* Builder::multicast(Value* window, std::string_view team) {
  if (window->type.is_view() && view_op_behind(window, "at") != nullptr) {
    fail("multicast: means all ranks' copies: leave .at(…) out");
  }
  return emit("multicast", {window}, {{"team", std::string(team)}})->result();
}

Attributes Builder::reduction(std::string_view call, const Value* view,
                              const ReductionOptions& options, std::string_view order) {
  require_whole_window(call, view);
  const Statement* multicast = multicast_behind(view);
  if (multicast != nullptr && !options.team.empty()) {
    fail(fmt::format("{}: team= stands at .multicast(team=…), which says whose copies", call));
  }
  if (multicast != nullptr && options.order == "rank") {
    fail(
        fmt::format("{}: a multicast address has no order of ranks; leave .multicast() out for "
                    "order=\"rank\"",
                    call));
  }
  if (!options.order.empty()) order = options.order;
  Attributes attributes = {{"order", std::string(multicast != nullptr ? "any" : order)},
                           {"team", std::string(options.team.empty() ? "world" : options.team)}};
  if (options.op != "add") attributes["operation"] = std::string(options.op);
  if (multicast != nullptr) {
    attributes["multicast"] = true;
    attributes["team"] = multicast->text("team");
  }
  return attributes;
}

Value* Builder::all_reduce_load(Value* view, const ReductionOptions& options) {
  return emit("all_reduce_load", {view}, reduction("all_reduce_load", view, options, "rank"))
      ->result();
}

void Builder::reduce_store(Value* view, Operand value, const ReductionOptions& options) {
  Attributes attributes = reduction("reduce_store", view, options, "any");
  emit("reduce_store", {view, source_for("reduce_store", view, value)}, std::move(attributes));
}

}  // namespace tilewire
