// How an operation on memory orders others, and for whom.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

/// Which side of a barrier or of an atomic orders memory.
enum class Order { kRelaxed, kAcquire, kRelease, kAcqRel };

/// Who may be on the other side: this CTA, this GPU, everybody.
enum class Scope { kCta, kGpu, kSystem };

/// A release with what is stored behind it, an acquire with what was loaded before it.
template <Scope kScope>
TILEWIRE_DEVICE void fence() {
  if constexpr (kScope == Scope::kSystem) {
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  } else if constexpr (kScope == Scope::kGpu) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  } else {
    asm volatile("fence.acq_rel.cta;" ::: "memory");
  }
}

}  // namespace tilewire::device
