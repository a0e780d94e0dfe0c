// The tensor copy engine (sm_90 and newer), as one thread uses it: copies of boxes of a tensor that
// the host described (abi.cuh). Coordinates are those of the box's first element, the contiguous
// dimension first; what lies outside of the tensor is read as zeros and never written.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/mbarrier.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

/// Brings the description of a tensor to the engine before its first use.
TILEWIRE_DEVICE void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Of tensors of rank 1 to 5. `to`, `from`: addresses in shared memory; `full`: the barrier that
// counts the bytes; `ctas`: a bit for each CTA of the cluster, all of which get the box at the same
// address, and its bytes counted by the same barrier.
#define TILEWIRE_TMA(rank, for_load, for_multicast, ...)                                    \
  TILEWIRE_DEVICE void load_box(uint32_t to, const TensorMap& map, uint32_t full,           \
                                const int(&at)[rank]) {                                     \
    asm volatile("cp.async.bulk.tensor." #rank                                              \
                 "d.shared::cluster.global.mbarrier::complete_tx::bytes"                    \
                 " [%0], [%1, {" for_load "}], [%2];" ::"r"(to),                            \
                 "l"(&map), "r"(full), __VA_ARGS__                                          \
                 : "memory");                                                               \
  }                                                                                         \
  TILEWIRE_DEVICE void load_box_for(uint16_t ctas, uint32_t to, const TensorMap& map,       \
                                    uint32_t full, const int(&at)[rank]) {                  \
    asm volatile("cp.async.bulk.tensor." #rank                                              \
                 "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster" \
                 " [%0], [%1, {" for_multicast "}], [%2], %3;" ::"r"(to),                   \
                 "l"(&map), "r"(full), "h"(ctas), __VA_ARGS__                               \
                 : "memory");                                                               \
  }

TILEWIRE_TMA(1, "%3", "%4", "r"(at[0]))
TILEWIRE_TMA(2, "%3, %4", "%4, %5", "r"(at[0]), "r"(at[1]))
TILEWIRE_TMA(3, "%3, %4, %5", "%4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]))
TILEWIRE_TMA(4, "%3, %4, %5, %6", "%4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]))
TILEWIRE_TMA(5, "%3, %4, %5, %6, %7", "%4, %5, %6, %7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]),
             "r"(at[3]), "r"(at[4]))
#undef TILEWIRE_TMA

}  // namespace tilewire::device
#endif
