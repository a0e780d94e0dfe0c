#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/program_slice.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

class Splitter {
 public:
  explicit Splitter(Program& program) : program_(program) {}

  void run() {
    Statements common = take_generations();
    Region producer = producer_region();
    consume(program_.body);
    finish(program_.body);
    Region consumer;
    consumer.statements = std::move(program_.body.statements);
    program_.body.statements = std::move(common);
    for (Region* region : {&producer, &consumer}) {
      region->statements.push_back(new_structure(StatementKind::kYield));
    }
    Inserter insert(program_, program_.body.statements, {});
    auto split = new_structure(StatementKind::kIf);
    split->operands = {insert.op("is_producer", {})};
    split->regions.push_back(std::move(producer));
    split->regions.push_back(std::move(consumer));
    insert.append(std::move(split));
    remove_dead_code(program_);
  }

 private:
  /// All threads read at the start which launch this is: later it may be over for an instance whose
  /// consumers have left it.
  Statements take_generations() {
    Statements taken;
    Statements& body = program_.body.statements;
    for (auto& statement : body) {
      if (statement->is("generation")) taken.push_back(std::move(statement));
    }
    std::erase(body, nullptr);
    return taken;
  }

  /// What the loads of operands depend on, and the waits that come before them.
  Region producer_region() {
    Region region;
    Replacements mapping;
    region.statements = clone_statements(program_, program_.body, mapping);
    await_consumers(region);
    keep_slice(region, [](const Statement& statement) {
      return statement.is("operand_load") || statement.is("await_hand_over") ||
             is_producers_wait(statement);
    });
    wait_once(region);
    for_each_statement(region, [this](Statement& statement) {
      if (!statement.is("next_index")) return;
      counters_.insert(statement.integer("counter"));
      statement.op = &find_op("give_index");
    });
    return region;
  }

  /// A flag that was waited for is set for the rest of the launch: the producer, which comes to the
  /// same ones tile by tile, asks for each once, if it is always for the same count.
  static void wait_once(Region& region) {
    std::map<const Value*, std::set<std::pair<const Value*, std::int64_t>>> counts;  // of an array
    std::set<const Value*> arguments;                                                // of loops
    for_each_statement(region, [&](const Statement& statement) {
      for (const Region& inner : statement.regions) {
        arguments.insert(inner.arguments.begin(), inner.arguments.end());
      }
      if (!is_producers_wait(statement)) return;
      const Value* count = statement.operands.at(1);
      std::int64_t number = 0;
      const bool is_constant = is_integer_constant(count, number);
      counts[parameter_behind(statement.operands.at(0))].emplace(is_constant ? nullptr : count,
                                                                 number);
    });
    for_each_statement(region, [&](Statement& wait) {
      if (!is_producers_wait(wait) || !wait.integers("shape").empty()) return;
      const auto& of_array = counts[parameter_behind(wait.operands.at(0))];
      const Value* count = of_array.begin()->first;
      const bool is_fixed = count == nullptr || is_fixed_outside_loops(count, arguments);
      if (is_fixed && of_array.size() == 1) wait.attributes["once"] = true;
    });
  }

  /// Whether a value is the same wherever it is computed: it comes of what loops don't change.
  static bool is_fixed_outside_loops(const Value* value, const std::set<const Value*>& arguments) {
    const Statement* made = value->definition;
    if (made == nullptr) return !arguments.contains(value);
    return made->kind == StatementKind::kOp && made->op->effect == Effect::kPure &&
           std::ranges::all_of(made->operands, [&](const Value* operand) {
             return is_fixed_outside_loops(operand, arguments);
           });
  }

  /// Where the consumers hand over what they have acquired, the producer waits for them.
  void await_consumers(Region& region) {
    for (auto& statement : region.statements) {
      for (Region& inner : statement->regions) await_consumers(inner);
      if (statement->is("hand_over")) statement->op = &find_op("await_hand_over");
    }
  }

  /// What the producer draws, the consumers learn from it.
  void take_index(Statement& statement) {
    if (!statement.is("next_index") || !counters_.contains(statement.integer("counter"))) return;
    statement.op = &find_op("take_index");
    statement.attributes.erase(statement.attributes.find("counter"));
  }

  /// The loads of operands become what the ring holds.
  void consume(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) consume(inner);
      replaced_.resolve_all(statement->operands);
      Inserter insert(program_, region.statements, statement->location);
      take_index(*statement);
      if (statement->is("operand_load")) {
        replaced_.replace(statement->result(), staged_operand(*statement, insert));
        removed_.push_back(std::move(statement));
      } else if (!is_producers_wait(*statement)) {
        insert.append(std::move(statement));
      }
    }
  }

  Value* staged_operand(const Statement& load, Inserter& insert) {
    const MapAccess access = MapAccess::of(load);
    Attributes attributes = {{"shape", access.shape},
                             {"dtype", load.result()->type.dtype},
                             {"place", load.integer("place")}};
    const bool is_by_columns = access.is_contiguous_along(1);
    if (is_by_columns) attributes["by_columns"] = true;
    if (load.flag("shared")) attributes["shared"] = true;
    Value* operand = insert.op("staged_operand", {}, std::move(attributes));
    operand->type.layout = load.result()->type.layout;
    return operand;
  }

  /// Products are complete where something else than the next multiplication reads them: behind a
  /// loop that does nothing else with its accumulator, else at once.
  void finish(Region& region) {
    const std::map<const Value*, int> uses = count_uses(program_.body);
    finish(region, uses);
  }

  void finish(Region& region, const std::map<const Value*, int>& uses) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      finished_.resolve_all(statement->operands);
      Inserter insert(program_, region.statements, statement->location);
      std::vector<Value*> products;
      if (is_staged(*statement) && !accumulating_.contains(statement.get())) {
        products = {statement->result()};
      }
      if (statement->kind == StatementKind::kFor) products = accumulated(*statement, uses);
      for (Region& inner : statement->regions) finish(inner, uses);
      insert.append(std::move(statement));
      for (Value* product : products) {
        Value* finished = insert.op("finish_product", {product});
        finished->type.layout = product->type.layout;
        finished->name = product->name;
        finished_.replace(product, finished);
      }
    }
  }

  /// The results of a loop that are nothing but sums of staged products.
  std::vector<Value*> accumulated(const Statement& loop, const std::map<const Value*, int>& uses) {
    std::vector<Value*> products;
    const Region& body = loop.body();
    for (std::size_t i = 0; i < loop.results.size(); ++i) {
      const Value* carried = body.arguments.at(i + 1);
      const Value* next = body.statements.back()->operands.at(i);
      const Statement* matmul = next->definition;
      const auto is_used_once = [&uses](const Value* value) {
        const auto found = uses.find(value);
        return found != uses.end() && found->second == 1;
      };
      if (matmul == nullptr || !is_staged(*matmul) || !is_used_once(next)) continue;
      if (matmul->operands.size() < 3 || matmul->operands[2] != carried || !is_used_once(carried)) {
        continue;
      }
      accumulating_.insert(matmul);
      products.push_back(loop.results[i]);
    }
    return products;
  }

  Program& program_;
  std::set<std::int64_t> counters_;  ///< which the producer draws from
  Replacements replaced_;
  Replacements finished_;
  std::set<const Statement*> accumulating_;
  Statements removed_;  ///< kept, so that no new statement takes their address
};

}  // namespace

Program split_roles(Program program) {
  if (has_staged_product(program.body)) Splitter(program).run();
  return program;
}

}  // namespace tilewire
