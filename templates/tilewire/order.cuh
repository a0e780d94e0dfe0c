// How an operation on memory orders others, and for whom.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

/// Which side of a barrier or of an atomic orders memory.
enum class Order { kRelaxed, kAcquire, kRelease, kAcqRel };

/// Who may be on the other side: this CTA, this GPU, everybody.
enum class Scope { kCta, kGpu, kSystem };

}  // namespace tilewire::device
