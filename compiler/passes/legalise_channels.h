#pragma once

#include <optional>
#include <vector>

#include "compiler/jit/target.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {

/// What the results of `send`, `recv` or `exchange` are where the target needs no message for them:
/// in a world of one, an exchange gives what was sent. UserError where nothing carries the message.
std::optional<std::vector<Value*>> without_message(const Statement& op, const Target& target,
                                                   Inserter& insert);

}  // namespace tilewire
