#pragma once

#include <cstddef>

#include "compiler/ir/program.h"

namespace tilewire {

/// Removes pure ops, reads, loops and branches that nothing depends on, and values that loops and
/// branches hand out to nobody. Whether something was removed.
bool remove_dead_code(Program& program);

/// Takes carried value `i` out of a loop whose uses of it are gone.
void drop_carried(Statement& loop, std::size_t i);
/// Takes result `i` out of a branch where nothing uses it.
void drop_chosen(Statement& branch, std::size_t i);

}  // namespace tilewire
