#pragma once

#include "compiler/support/error.h"

namespace tilewire {

class Scheduler;

/// Names every waiting instance of a launch in which none can run: where it waits, and what each
/// one that it waits for is doing. Instances with the same story share a line.
HangError deadlock_error(const Scheduler& scheduler);

}  // namespace tilewire
