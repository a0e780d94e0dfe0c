#pragma once

#include <cstdint>
#include <string>

#include "compiler/codegen/cpu/abi.h"
#include "compiler/support/error.h"

namespace tilewire {

enum class CountedIn { kWorld, kLsa };  ///< what a program counts a rank in

/// What is wrong with a rank that isn't there, and what to do.
std::string absent_rank_message(std::int64_t rank, CountedIn team, std::int64_t team_size);

/// `rank 0, program (1, 0, 0)`, or without the rank.
std::string describe_instance(const CpuInstance& instance, bool has_rank = true);

/// The same, of an instance that reaches for such a rank at a line.
UserError absent_rank_error(const CpuInstance& instance, std::int64_t rank, CountedIn team,
                            std::int64_t team_size, const SourceLocation& location);

}  // namespace tilewire
