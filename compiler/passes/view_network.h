#pragma once

#include <vector>

#include "compiler/passes/rewrite.h"
#include "compiler/passes/view_access.h"

namespace tilewire {

/// The place of a view's first element: bytes from the start of its parameter's memory.
Value* bytes_of(const LoweredView& view, Inserter& insert);

/// Appends the `network_put` or `network_get` of two views, of which one is over the network; the
/// `dimensions` are operands as `NetworkCopy` reads them.
void copy_over_network(const LoweredView& to, const LoweredView& from,
                       const std::vector<Value*>& dimensions, int known_bytes, Inserter& insert);

/// Appends the `network_signal` of a `signal` to one semaphore. `inside`: false where there is
/// none; null: there is.
Statement& signal_over_network(const Statement& signal, const LoweredView& view, Value* element,
                               Value* inside, Inserter& insert);

}  // namespace tilewire
