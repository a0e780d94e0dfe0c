#pragma once

#include <set>
#include <utility>

#include "compiler/ir/program.h"
#include "compiler/ops/task.h"

namespace tilewire {

using Values = std::set<const Value*>;

/// Follows values that something may be true of, on some way that the program takes: `step` makes
/// of those in front of an op those behind it. Returns those behind the region.
template <typename Step>
Values flow_forward(const Region& region, Values values, const Step& step) {
  for (const auto& statement : region.statements) {
    switch (statement->kind) {
      case StatementKind::kOp:
        values = step(*statement, std::move(values));
        break;
      case StatementKind::kFor:
      case StatementKind::kWhile: {
        for (std::size_t before = values.size() + 1; before != values.size();) {
          before = values.size();
          Values end = values;
          for (const Region& inner : statement->regions) {
            end = flow_forward(inner, std::move(end), step);
            values.insert(end.begin(), end.end());
          }
        }
        break;
      }
      case StatementKind::kIf: {
        Values other = flow_forward(statement->regions.at(1), values, step);
        values = flow_forward(statement->regions.at(0), std::move(values), step);
        if (is_task(*statement)) values.clear();  // it ends there
        values.merge(other);
        break;
      }
      case StatementKind::kYield:
      case StatementKind::kReturn:
        break;
    }
  }
  return values;
}

}  // namespace tilewire
