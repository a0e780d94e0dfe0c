#include <fmt/format.h>

#include "compiler/frontend/builder.h"

namespace tilewire {
namespace {

constexpr std::int64_t kMaxSignals = INT32_MAX;  // counters are compared by signed differences

}  // namespace

/// A number of signals as the ops take it.
Value* Builder::to_count(const Operand& n, std::string_view what) {
  if (const auto* literal = std::get_if<std::int64_t>(&n)) {
    if (*literal < 1 || *literal > kMaxSignals) {
      fail(fmt::format("{}: n={}; it takes 1 to {} at a time", what, *literal, kMaxSignals));
    }
    return constant(n, DType::kU32);
  }
  auto* const* value = std::get_if<Value*>(&n);
  if (value == nullptr || !(*value)->type.is_scalar() || !is_integer((*value)->type.dtype)) {
    fail(fmt::format("{}: n must be an integer scalar{}", what,
                     value == nullptr ? "" : ", it is " + (*value)->type.to_string()));
  }
  return cast(n, DType::kU32);
}

void Builder::signal(Value* semaphore, Operand n) {
  emit("signal", {semaphore, to_count(n, "signal")});
}

void Builder::wait(Value* view, Operand n, bool deadline) {
  Attributes attributes;
  if (!deadline) attributes.emplace("patient", true);
  emit("wait", {view, to_count(n, "wait")}, std::move(attributes));
}

}  // namespace tilewire
