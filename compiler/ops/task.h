#pragma once

#include <string_view>

#include "compiler/ir/program.h"

namespace tilewire {

/// Whether it is the branch that a task's warp runs.
bool is_task(const Statement& statement);

/// That of a lowered program; null: it has no task.
const Statement* find_task(const Program& program);

/// Whether an op stands among statements, in no task.
bool has_beside_task(const Region& region, std::string_view op);

}  // namespace tilewire
