// What lies where in the network between virtual ranks on one GPU (virtual_network.cuh). For NVRTC
// and the host.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

/// Where the copies of a window lie: what `ncclWindow_t` points at.
struct VirtualPlace {
  uint64_t base;    ///< of world rank 0's
  uint64_t stride;  ///< bytes from one world rank's to the next one's

  TILEWIRE_CONSTEXPR uint64_t address(int rank, uint64_t offset) const {
    return base + stride * static_cast<uint64_t>(rank) + offset;
  }
};

/// Something that a rank has asked the network for.
struct VirtualRequest {
  enum Kind : uint32_t { kCopy, kValue, kSignal };

  uint64_t to;     ///< address; of a signal, its word's
  uint64_t from;   ///< address; kCopy
  uint64_t bytes;  ///< kCopy, kValue
  uint64_t value;  ///< kValue; of a signal, what is added
  uint32_t kind;   ///< Kind
  int64_t number;  ///< from 1 on, once all of it is there
};

inline constexpr int64_t kVirtualRequests = 1024;

/// The requests of one rank on one context, in their order.
struct VirtualQueue {
  int64_t num_asked;
  int64_t num_done;
  uint32_t is_taken;  ///< by the thread that carries out what is in it
  VirtualRequest requests[kVirtualRequests];
};

/// What stands in `ncclDevComm`'s place.
struct VirtualNetwork {
  int32_t rank;
  int32_t nRanks;
  uint32_t num_contexts;
  uint32_t num_signals;  ///< of each context
  VirtualQueue* queues;  ///< of each rank, of each context
  int64_t* signals;      ///< so

  TILEWIRE_CONSTEXPR int64_t* signal(int of, uint32_t context, uint32_t number) const {
    const uint64_t place = uint64_t{num_contexts} * static_cast<uint64_t>(of) + context;
    return signals + place * num_signals + number;
  }
};

static_assert(sizeof(VirtualPlace) == 16);
static_assert(sizeof(VirtualRequest) == 48);
static_assert(sizeof(VirtualNetwork) == 32);

}  // namespace tilewire::device
