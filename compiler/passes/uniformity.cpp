#include "compiler/passes/uniformity.h"

#include <algorithm>

#include "compiler/ops/op.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {

Uniformity::Uniformity(const Program& program, std::int64_t size) : size_(size), bounds_(program) {
  collect(program.body, nullptr);
}

void Uniformity::collect(const Region& region, const Statement* owner) {
  for (const Value* argument : region.arguments) owners_[argument] = owner;
  for (const auto& statement : region.statements) {
    for (const Region& inner : statement->regions) collect(inner, statement.get());
  }
}

bool Uniformity::is_uniform(const Value* value) {
  const auto [found, is_new] =
      known_.try_emplace(value, true);  // what a loop carries may need itself
  if (!is_new) return found->second;
  const bool result = find_out(value);
  // What was found uniform on the way may have counted on this one.
  if (!result) std::erase_if(known_, [](const auto& entry) { return entry.second; });
  return known_[value] = result;
}

bool Uniformity::find_out(const Value* value) {
  const Statement* made = value->definition;
  if (made == nullptr) {
    const auto owner = owners_.find(value);
    if (owner == owners_.end() || owner->second == nullptr) return true;  // the same on all
    return is_uniform_argument(value, *owner->second);
  }
  if (made->kind == StatementKind::kOp) return is_uniform_op(*made);
  const auto place =
      static_cast<std::size_t>(std::ranges::find(made->results, value) - made->results.begin());
  if (!runs_alike(*made)) return false;
  if (made->kind == StatementKind::kFor) return is_uniform_carried(*made, place);
  return made->kind == StatementKind::kIf &&
         std::ranges::all_of(made->regions, [&](const Region& branch) {
           return is_uniform(branch.statements.back()->operands.at(place));
         });
}

bool Uniformity::is_uniform_op(const Statement& op) {
  if (op.is("program_id") || effect_of(op) != Effect::kPure) return false;
  std::int64_t divisor = 0;
  if (op.is("floordiv") && is_integer_constant(op.operands[1], divisor) && divisor > 0 &&
      divisor % size_ == 0) {
    const auto owner = owners_.find(op.operands[0]);
    const bool is_index = owner != owners_.end() && owner->second != nullptr &&
                          owner->second->kind == StatementKind::kFor &&
                          owner->second->body().arguments.front() == op.operands[0];
    if (is_index && is_persistent(*owner->second)) return true;
  }
  return std::ranges::all_of(op.operands,
                             [this](const Value* operand) { return is_uniform(operand); });
}

bool Uniformity::is_uniform_argument(const Value* argument, const Statement& loop) {
  if (loop.kind != StatementKind::kFor || !runs_alike(loop)) return false;
  const std::vector<Value*>& arguments = loop.body().arguments;
  const auto place =
      static_cast<std::size_t>(std::ranges::find(arguments, argument) - arguments.begin());
  if (place > 0) return is_uniform_carried(loop, place - 1);
  return is_uniform(loop.operands.at(0)) && is_uniform(loop.operands.at(2));
}

bool Uniformity::is_uniform_carried(const Statement& loop, std::size_t place) {
  return is_uniform(loop.operands.at(loop.num_bounds() + place)) &&
         is_uniform(loop.body().statements.back()->operands.at(place));
}

bool Uniformity::runs_alike(const Statement& structure) {
  switch (structure.kind) {
    case StatementKind::kIf:
      return is_uniform(structure.operands.at(0));
    case StatementKind::kFor:
      if (is_persistent(structure)) {
        return is_uniform(structure.operands.at(1)) &&
               bounds_.is_multiple(structure.operands.at(1), size_);
      }
      return std::all_of(structure.operands.begin(), structure.operands.begin() + 3,
                         [this](const Value* bound) { return is_uniform(bound); });
    default:
      return false;
  }
}

bool Uniformity::is_persistent(const Statement& loop) {
  const Statement* lower = loop.operands.at(0)->definition;
  const Statement* step = loop.operands.at(2)->definition;
  return lower != nullptr && step != nullptr && lower->is("program_id") && step->is("num_programs");
}

}  // namespace tilewire
