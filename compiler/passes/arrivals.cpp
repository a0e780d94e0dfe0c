#include "compiler/passes/arrivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

using Kind = HostStep::Kind;

std::optional<Kind> kind_of(std::string_view op) {
  constexpr std::pair<std::string_view, Kind> kKinds[] = {{"add", Kind::kAdd},
                                                          {"sub", Kind::kSubtract},
                                                          {"mul", Kind::kMultiply},
                                                          {"mod", Kind::kModulo},
                                                          {"minimum", Kind::kMinimum},
                                                          {"maximum", Kind::kMaximum},
                                                          {"floordiv", Kind::kFloorDivide}};
  for (const auto& [name, kind] : kKinds) {
    if (name == op) return kind;
  }
  return std::nullopt;
}

/// Whether the host can compute a value; its steps, behind those there are.
bool append_steps(const Program& program, const Value* value, HostExpression& steps) {
  std::int64_t number = 0;
  if (is_integer_constant(value, number)) {
    steps.push_back({Kind::kNumber, number});
    return true;
  }
  for (std::size_t i = 0; i < program.dimensions.size(); ++i) {
    if (program.dimensions[i].second != value) continue;
    steps.push_back({Kind::kDimension, static_cast<std::int64_t>(i)});
    return true;
  }
  const Statement* made = value->definition;
  if (made == nullptr || made->kind != StatementKind::kOp) return false;
  if (made->is("non_negative")) return append_steps(program, made->operands[0], steps);
  if (made->is("neg")) {
    steps.push_back({Kind::kNumber, 0});
    if (!append_steps(program, made->operands[0], steps)) return false;
    steps.push_back({Kind::kSubtract});
    return true;
  }
  const std::optional<Kind> kind = kind_of(made->op->name);
  if (!kind || made->result()->type != Type::scalar(kIndex)) return false;
  if (!append_steps(program, made->operands[0], steps)) return false;
  if (!append_steps(program, made->operands[1], steps)) return false;
  steps.push_back({*kind});
  return true;
}

void check_places(Program& program, Region& region) {
  Statements old = std::exchange(region.statements, {});
  for (auto& statement : old) {
    for (Region& inner : statement->regions) check_places(program, inner);
    if (statement->is("arrive") && !statement->flag("inside")) {
      Inserter insert(program, region.statements, statement->location);
      Value* place = statement->operands.at(0);
      Value* places = statement->operands.at(2);
      Value* exists = insert.op(
          "and", {insert.op("le", {insert.constant(0), place}), insert.op("lt", {place, places})});
      insert.append(program.new_op("assert", {exists, place, places},
                                   {{"text", std::string("place {} of {}")},
                                    {"message", std::string("arrive: there is no such place")}},
                                   statement->location));
    }
    region.statements.push_back(std::move(statement));
  }
}

}  // namespace

void check_places(Program& program) { check_places(program, program.body); }

void number_arrivals(Program& program) {
  std::int64_t sites = 0;
  for_each_statement(program.body, [&sites](Statement& statement) {
    if (statement.is("arrive")) statement.attributes["site_number"] = sites++;
  });
  for_each_statement(program.body, [sites](Statement& statement) {
    if (statement.is("arrive")) statement.attributes["sites"] = sites;
  });
}

HostExpression arrival_words(const Program& lowered) {
  HostExpression words;
  std::int64_t sites = 0;
  for_each_statement(lowered.body, [&](const Statement& statement) {
    if (!statement.is("arrive")) return;
    const bool is_first = words.empty();
    if (!append_steps(lowered, statement.operands.at(2), words)) {
      throw UserError(
          fmt::format(
              "arrive: the host makes room for {} before the launch: compute {} from extents "
              "of arrays, constants, + - * // % and minimum or maximum",
              statement.flag("inside") ? "the tiles" : "places=",
              statement.flag("inside") ? "M and N of tw.tiles" : "it"),
          statement.location);
    }
    if (!is_first) words.push_back({Kind::kMaximum});
    sites = std::max(sites, statement.integer("sites"));
  });
  if (words.empty()) return words;
  words.insert(words.end(), {{Kind::kNumber, 0}, {Kind::kMaximum}});
  words.insert(words.end(), {{Kind::kNumber, sites}, {Kind::kMultiply}});
  return words;
}

}  // namespace tilewire
