#pragma once

#include "compiler/ir/program.h"

namespace tilewire {

/// Whether the mover (templates/tilewire/mover.cuh) carries its tile: a `tile_load` or `tile_store`
/// that is going to be split, or what it has become.
bool is_moved(const Statement& statement);

/// Shared memory that the tile of such a statement takes.
int moved_bytes(const Statement& statement);

/// Whether the consumers meet the mover there, warp by warp.
bool meets_mover(const Statement& statement);

/// Whether it is the branch that the mover runs.
bool is_movers(const Statement& statement);

}  // namespace tilewire
