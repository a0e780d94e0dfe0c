#pragma once

#include <memory>

#include "compiler/passes/rewrite.h"
#include "compiler/passes/view_access.h"

namespace tilewire {

/// Appends what an op on a view of synchronisation objects becomes: `OpInfo::lowered`, with the
/// objects' place in front, and what `ObjectAccess` reads back. `checks`: an index outside of the
/// array ends the launch; else the op is left out where there is one. Returns the statement, whose
/// results are those of the op.
Statement& lower_object_op(const Statement& statement, const LoweredView& view, bool checks,
                           Inserter& insert);

/// UserError: what a wait takes belongs to this rank.
[[noreturn]] void refuse_wait_at_peer(const Statement& statement);

}  // namespace tilewire
