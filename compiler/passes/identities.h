#pragma once

#include "compiler/passes/rewrite.h"

namespace tilewire {

/// What an op's result can be replaced by, exactly (also for NaN and -0.0); null where the op
/// stays. New ops go through `insert`; the op's own operands may change.
Value* simplify(Statement& op, Inserter& insert);

}  // namespace tilewire
