#include "compiler/codegen/cpu/uses.h"

#include <algorithm>
#include <set>

namespace tilewire {
namespace {

void add_once(std::vector<const Value*>& values, const Value* value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
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
      if (own.count(operand) > 0) mentioned_by_[operand] = statement.get();
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
  return outer;
}

const std::vector<const Value*>& Uses::used_by(const Statement& statement) const {
  return used_by_.at(&statement);
}

int Uses::num_users(const Value* value) const { return find_or(num_users_, value, 0); }

const Statement* Uses::single_user(const Value* value) const {
  if (find_or(num_mentions_, value, 0) != 1) return nullptr;
  return find_or(mentioned_by_, value, nullptr);
}

}  // namespace tilewire
