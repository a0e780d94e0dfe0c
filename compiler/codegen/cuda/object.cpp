#include "compiler/codegen/cuda/object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace tilewire {
namespace {

std::string_view scope_name(std::string_view scope) {
  return scope == "gpu" ? "tw::Scope::kGpu" : "tw::Scope::kSystem";
}

}  // namespace

void emit_object_op(const ObjectAccess& access, CudaEmitter& emitter, const std::string& text) {
  if (access.predicate == nullptr) return emitter.statement(text);
  emitter.statement(fmt::format("if ({}) {}", emitter.argument(access.predicate), text));
}

std::string object_slice(const ObjectAccess& access) {
  return fmt::format("tw::ObjectSlice<tw::Extents<{}>, tw::Extents<{}>>()",
                     fmt::join(access.shape, ", "), fmt::join(access.strides, ", "));
}

std::string_view order_name(const Statement& statement) {
  static const std::map<std::string_view, std::string_view> names = {{"acq_rel", "kAcqRel"},
                                                                     {"acquire", "kAcquire"},
                                                                     {"release", "kRelease"},
                                                                     {"relaxed", "kRelaxed"}};
  return names.at(statement.text("order"));
}

std::string_view object_scope(const Statement& statement) {
  return scope_name(statement.text("scope"));
}

std::string telling_arguments(const Statement& statement, const CudaEmitter& emitter) {
  const std::string_view told = statement.text("told");
  std::string arguments = fmt::format("tw::Order::{}, {}", order_name(statement), scope_name(told));
  const bool is_mover = statement.flag("mover");
  if (emitter.is_in_task() || is_mover || told != statement.text("scope")) {
    arguments += fmt::format(", {}", object_scope(statement));
  }
  if (emitter.is_in_task()) return arguments + ", tw::TaskWarp";
  return is_mover ? arguments + ", tw::MoverWarp" : arguments;
}

std::string waiting_group(const Statement& statement, const CudaEmitter& emitter) {
  if (emitter.is_in_task()) return "tw::TaskWarp";
  if (statement.flag("mover")) return "tw::MoverWarp";
  return statement.flag("producer") ? "tw::ProducerThread" : "";
}

std::string_view wait_timeout(const Statement& statement) {
  return statement.flag("patient") ? "tw::kNoDeadline" : "lane.timeout_ns";
}

}  // namespace tilewire
