// Which launch this is of those that take a flag array or a rotating window (LaunchState in
// object_layout.cuh), and its end.
//
// The state is one word in this rank's memory. Every instance reads it when it starts, and adds to
// it when it leaves. The word tells a late reader whether the launch that it belongs to is already
// being left, so that nobody looks for the last instance to leave, and nobody waits at the end.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/base.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/object_layout.cuh"
#include "tilewire/phases.cuh"

namespace tilewire::device {

/// Number of this launch, from 1 on. Read when it is made; needed, and waited for, when it is asked
/// for.
class LaunchNumber {
 public:
  explicit TILEWIRE_DEVICE LaunchNumber(const WindowHandle& object) : object_(object) {
    word_ =
        static_cast<uint64_t>(load_relaxed<Scope::kGpu>(static_cast<const int64_t*>(object.local)));
  }
  LaunchNumber(const LaunchNumber&) = delete;
  LaunchNumber& operator=(const LaunchNumber&) = delete;

  TILEWIRE_DEVICE int64_t get() const { return launch_of(word_); }

  /// One instance leaves the launch, of which all threads must have read the number: a
  /// __syncthreads stands before. The end of the kernel makes this visible to the next launch: no
  /// fence, and nobody waits for the addition.
  TILEWIRE_DEVICE void leave() const {
    if (threadIdx.x != 0) return;
    const uint64_t num_instances = 1ull * gridDim.x * gridDim.y * gridDim.z;
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1; // own phase" ::"l"(object_.local),
                 "l"(leaving(linear_program_id(), num_instances))
                 : "memory");
  }

 private:
  const WindowHandle& object_;
  uint64_t word_;
};

}  // namespace tilewire::device
