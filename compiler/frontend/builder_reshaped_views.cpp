#include <fmt/format.h>

#include <numeric>

#include "compiler/frontend/builder.h"

namespace tilewire {
namespace {

/// Literals stay in the attribute, anything else becomes an operand and -1 there.
struct Amounts {
  std::vector<std::int64_t> known;
  Values operands;
};

}  // namespace

Value* Builder::view(Value* base, Operand offset, const std::vector<Operand>& shape,
                     const std::vector<Operand>& strides) {
  if (!base->type.is_view()) {
    fail(fmt::format("view: {} is no place in memory", base->type.to_string()));
  }
  std::vector<Operand> steps = strides;
  if (steps.empty()) {
    Operand contiguous = std::int64_t{1};
    steps.resize(shape.size(), contiguous);
    for (std::size_t i = shape.size(); i-- > 1;) {
      const auto* a = std::get_if<std::int64_t>(&steps[i]);
      const auto* b = std::get_if<std::int64_t>(&shape[i]);
      steps[i - 1] = a != nullptr && b != nullptr ? Operand(*a * *b)
                                                  : Operand(binary("mul", steps[i], shape[i]));
    }
  }
  const auto split = [this](const std::vector<Operand>& given, std::string_view what) {
    Amounts amounts;
    for (const Operand& amount : given) {
      const auto* literal = std::get_if<std::int64_t>(&amount);
      if (literal != nullptr && *literal != kDynamic) {
        amounts.known.push_back(*literal);
      } else {
        amounts.known.push_back(kDynamic);
        amounts.operands.push_back(to_index(amount, what));
      }
    }
    return amounts;
  };
  Values operands = {base, to_index(offset, "the offset of a view")};
  const Amounts extents = split(shape, "an extent of a view");
  const Amounts gaps = split(steps, "a stride of a view");
  operands.insert(operands.end(), extents.operands.begin(), extents.operands.end());
  operands.insert(operands.end(), gaps.operands.begin(), gaps.operands.end());
  return emit("view", std::move(operands), {{"shape", extents.known}, {"strides", gaps.known}})
      ->result();
}

Value* Builder::permute(Value* view, std::vector<std::int64_t> order) {
  if (order.empty()) {
    order.resize(view->type.shape.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  return emit("permute", {view}, {{"order", std::move(order)}})->result();
}

Value* Builder::field(Value* bytes, std::int64_t offset, DType dtype,
                      std::vector<std::int64_t> shape) {
  return emit("field", {bytes}, {{"offset", offset}, {"dtype", dtype}, {"shape", std::move(shape)}})
      ->result();
}

Value* Builder::inside(Value* view) { return emit("inside", {view})->result(); }

void Builder::prefetch(Value* view) { emit("prefetch", {view}); }

}  // namespace tilewire
