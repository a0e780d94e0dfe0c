#pragma once

#include "compiler/ir/program.h"
#include "compiler/jit/host_expression.h"

namespace tilewire {

/// An assertion in front of each `arrive` that its place is one of them, unless that is known.
void check_places(Program& program);

/// Numbers the program's `arrive`: each has places of its own, copies of it by later passes the
/// same.
void number_arrivals(Program& program);

/// How many words the places of a lowered program's `arrive` take. UserError where the host can't
/// compute that from the launch's arguments.
HostExpression arrival_words(const Program& lowered);

}  // namespace tilewire
