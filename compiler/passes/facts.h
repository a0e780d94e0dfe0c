#pragma once

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// What a launch finds out about ordinary arguments: arrays without gaps as a framework allocates
/// them, in no window, whose run-time extents are multiples of 16.
LocalFacts ordinary_facts(const Program& program);

/// Whether `LocalFacts::mappable` can make a difference to the code of a program that isn't lowered
/// yet: rows that begin at multiples of 16 bytes are accessed in whole vectors, and products of
/// them may come by TMA or `cp.async`.
bool depends_on_maps(const Program& program, const Target& target);

}  // namespace tilewire
