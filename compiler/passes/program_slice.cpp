#include "compiler/passes/program_slice.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/passes/dead_code.h"

namespace tilewire {
namespace {

bool is_loop(const Statement& statement) {
  return statement.kind == StatementKind::kFor || statement.kind == StatementKind::kWhile;
}

class Slice {
 public:
  Slice(const Region& region, const std::function<bool(const Statement&)>& is_root)
      : is_root_(is_root) {
    collect(region, nullptr);
    for (const Statement* root : roots_) need_statement(*root);
    while (!waiting_.empty()) {
      const Value* value = waiting_.back();
      waiting_.pop_back();
      need_what_makes(*value);
    }
  }

  bool has(const Statement& statement) const { return statements_.contains(&statement); }
  bool has(const Value* value) const { return values_.contains(value); }
  const std::set<const Statement*>& statements() const { return statements_; }

 private:
  void collect(const Region& region, const Statement* owner) {
    for (const Value* argument : region.arguments) owners_[argument] = owner;
    for (const auto& statement : region.statements) {
      parents_[statement.get()] = owner;
      if (is_root_(*statement)) roots_.push_back(statement.get());
      for (const Region& inner : statement->regions) collect(inner, statement.get());
    }
  }

  void need(const Value* value) {
    if (values_.insert(value).second) waiting_.push_back(value);
  }

  /// With what says whether and how often it runs.
  void need_statement(const Statement& statement) {
    if (!statements_.insert(&statement).second) return;
    std::size_t count = statement.operands.size();
    if (statement.kind == StatementKind::kFor || statement.kind == StatementKind::kWhile) {
      count = statement.num_bounds();
    }
    for (std::size_t i = 0; i < count; ++i) need(statement.operands[i]);
    if (statement.kind == StatementKind::kWhile) {
      need(statement.regions[0].statements.back()->operands.at(0));
    }
    if (const Statement* parent = parents_.at(&statement)) need_statement(*parent);
  }

  void need_what_makes(const Value& value) {
    const auto owner = owners_.find(&value);
    if (value.definition != nullptr) {
      const Statement& made = *value.definition;
      if (!parents_.contains(&made)) return;  // outside of the region
      need_statement(made);
      const auto place = std::ranges::find(made.results, &value) - made.results.begin();
      if (is_loop(made)) need_carried(made, static_cast<std::size_t>(place));
      if (made.kind == StatementKind::kIf) {
        for (const Region& branch : made.regions) {
          need(branch.statements.back()->operands.at(static_cast<std::size_t>(place)));
        }
      }
    } else if (owner != owners_.end() && owner->second != nullptr) {
      need_argument(value, *owner->second);
    }
  }

  void need_argument(const Value& argument, const Statement& loop) {
    need_statement(loop);
    for (const Region& region : loop.regions) {
      const std::size_t num_before = region.arguments.size() - loop.results.size();
      const auto found = std::ranges::find(region.arguments, &argument);
      if (found == region.arguments.end()) continue;
      const auto place = static_cast<std::size_t>(found - region.arguments.begin());
      if (place >= num_before) need_carried(loop, place - num_before);
    }
  }

  /// What a loop carries is needed under all of its names.
  void need_carried(const Statement& loop, std::size_t place) {
    need(loop.results[place]);
    need(loop.operands[loop.num_bounds() + place]);
    for (const Region& region : loop.regions) {
      need(region.arguments[region.arguments.size() - loop.results.size() + place]);
    }
    need(loop.body().statements.back()->operands.at(place));
  }

  const std::function<bool(const Statement&)>& is_root_;
  std::map<const Value*, const Statement*> owners_;  ///< region argument → whose
  std::map<const Statement*, const Statement*> parents_;
  std::vector<const Statement*> roots_;
  std::set<const Statement*> statements_;
  std::set<const Value*> values_;
  std::vector<const Value*> waiting_;
};

void prune(Region& region, const Slice& slice) {
  std::erase_if(region.statements, [&](const auto& statement) {
    return statement->kind != StatementKind::kYield && !slice.has(*statement);
  });
  for (auto& statement : region.statements) {
    for (std::size_t i = statement->results.size(); i-- > 0;) {
      if (slice.has(statement->results[i])) continue;
      if (is_loop(*statement)) drop_carried(*statement, i);
      if (statement->kind == StatementKind::kIf) drop_chosen(*statement, i);
    }
    for (Region& inner : statement->regions) prune(inner, slice);
  }
}

}  // namespace

void keep_slice(Region& region, const std::function<bool(const Statement&)>& is_root) {
  prune(region, Slice(region, is_root));
}

std::set<const Statement*> slice_of(const Region& region,
                                    const std::function<bool(const Statement&)>& is_root) {
  return Slice(region, is_root).statements();
}

}  // namespace tilewire
