#pragma once

#include "compiler/passes/rewrite.h"
#include "compiler/passes/view_access.h"

namespace tilewire {

/// Appends an assertion that all elements of a view lie in the memory of its parameter, which
/// `whole` is the view of. Nothing where the view's elements are fields of records.
void check_view(const LoweredView& view, const LoweredView& whole, Inserter& insert);

}  // namespace tilewire
