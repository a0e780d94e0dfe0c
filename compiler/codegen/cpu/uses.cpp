#include "compiler/codegen/cpu/uses.h"

#include <algorithm>
#include <set>

#include "compiler/ops/op.h"

namespace tilewire {
namespace {

template <typename T>
void add_once(std::vector<const T*>& items, const T* item) {
  if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
}

template <typename Map, typename Key>
auto find_or(const Map& map, Key key, typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

}  // namespace

Uses::Uses(const Region& body) { visit(body); }

/// Returns the values of outer regions that this one uses.
std::vector<const Value*> Uses::visit(const Region& region) {
  std::set<const Value*> own(region.arguments.begin(), region.arguments.end());
  std::vector<const Value*> outer;
  for (const auto& statement : region.statements) {
    std::vector<const Value*> used;
    for (const Value* operand : statement->operands) {
      add_once(used, operand);
      ++num_mentions_[operand];
      if (own.count(operand) == 0) continue;
      ++num_own_mentions_[operand];
      add_once<Statement>(mentioned_by_[operand], statement.get());
    }
    for (const Region& inner : statement->regions) {
      for (const Value* value : visit(inner)) add_once(used, value);
    }
    std::vector<const Value*>& of_region = used_by_[statement.get()];
    for (const Value* value : used) {
      if (own.count(value) > 0) {
        of_region.push_back(value);
        ++num_users_[value];
      } else {
        add_once(outer, value);
      }
    }
    own.insert(statement->results.begin(), statement->results.end());
  }
  find_common_loops(region);
  return outer;
}

/// From the last statement to the first, so that users are known before what they use.
void Uses::find_common_loops(const Region& region) {
  for (auto each = region.statements.rbegin(); each != region.statements.rend(); ++each) {
    for (const Value* result : (*each)->results) {
      if (!result->type.is_tile()) continue;
      if (find_or(num_own_mentions_, result, 0) != find_or(num_mentions_, result, 0)) continue;
      std::vector<const Statement*> loops;
      for (const Statement* user : mentioned_by_[result]) {
        if (user->kind != StatementKind::kOp) {
          add_once<Statement>(loops, nullptr);
          continue;
        }
        const bool passes_on = user->op->is_elementwise && user->result()->type.is_tile() &&
                               user->result()->type.shape == result->type.shape;
        const Statement* further = passes_on ? common_loop(user->result()) : nullptr;
        add_once(loops, further != nullptr ? further : user);
      }
      if (loops.size() == 1 && loops[0] != nullptr) common_loops_[result] = loops[0];
    }
  }
}

const std::vector<const Value*>& Uses::used_by(const Statement& statement) const {
  return used_by_.at(&statement);
}

int Uses::num_users(const Value* value) const { return find_or(num_users_, value, 0); }

const Statement* Uses::single_user(const Value* value) const {
  if (find_or(num_mentions_, value, 0) != 1) return nullptr;
  const auto found = mentioned_by_.find(value);
  return found == mentioned_by_.end() ? nullptr : found->second.front();
}

const Statement* Uses::common_loop(const Value* value) const {
  return find_or(common_loops_, value, nullptr);
}

}  // namespace tilewire
