#pragma once

#include "compiler/ir/program.h"

namespace tilewire {

/// Finds what bounds the grid of `tw.auto`, on every rank alike: how many instances the persistent
/// loops have work for, and the extents of the arrays of objects that program ids index.
void bound_grid(Program& program);

}  // namespace tilewire
