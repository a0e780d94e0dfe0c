#pragma once

#include <string>

#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// Names both launches of lane number `lane` on `rank`, and says what to do.
std::string describe_misfit(const device::Misfit& misfit, int rank, int lane);

/// UserError where a lane was used twice at once, HangError where ranks launched different things.
[[noreturn]] void raise_misfit(const device::Misfit& misfit, int rank, int lane);

}  // namespace tilewire
