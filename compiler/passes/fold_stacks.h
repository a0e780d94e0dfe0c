#pragma once

#include "compiler/passes/rewrite.h"

namespace tilewire {

/// What a pure op makes of a `stack` without putting it together: reductions along the first
/// dimension become element-wise ops on its parts, in their order and in the reduction's dtype;
/// parts of it are parts of one of them; element-wise ops work on each. Null where it can't.
Value* simplify_stack(const Statement& op, Inserter& insert);

}  // namespace tilewire
