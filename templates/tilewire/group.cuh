// Which threads of a CTA execute a wait.
//
// What a wait calls takes the group as a parameter too: a function that both roles of a kernel
// called would be given registers that the producer has handed to the consumers (roles.cuh), and
// ptxas would leave them where they are.
#pragma once

#include "tilewire/bulk_copy.cuh"
#include "tilewire/meet.cuh"

namespace tilewire::device {

/// Those that run the program: in a kernel with roles, its consumers.
struct ProgramThreads {
  static TILEWIRE_DEVICE int index() { return threadIdx.x; }
  static TILEWIRE_DEVICE void acquired() {}
  static TILEWIRE_DEVICE void meet() { tilewire::device::meet(); }
};

#if defined(__CUDACC__)
/// The producer's thread alone, which then loads through the async proxy.
struct ProducerThread {
  static TILEWIRE_DEVICE int index() { return 0; }
  static TILEWIRE_DEVICE void acquired() { fence_proxy_async(); }
};
#endif

}  // namespace tilewire::device
