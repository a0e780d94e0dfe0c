// What `ncclGin` is between virtual ranks on one GPU whose teams a network would join: as much of
// NCCL's interface as network_calls.cuh uses, over queues in the GPU's memory. Kernels include it
// in place of <nccl_device.h>.
//
// It promises what NCCL does and no more. A put only asks: whoever looks at a signal, flushes, or
// finds no room carries out what has been asked for, in any rank's name, so sources are read late
// and puts between two signals come in reverse order. A signal comes behind what was asked for on
// its context before it.
#pragma once

#include <cuda/atomic>

#include "tilewire/phases.cuh"
#include "tilewire/virtual_network_layout.cuh"

struct ncclDevComm : tilewire::device::VirtualNetwork {};
using ncclWindow_t = const tilewire::device::VirtualPlace*;

struct ncclTeam {};
struct ncclCoopThread {};
struct ncclCoopLanes {
  uint32_t lanes;
  TILEWIRE_DEVICE explicit ncclCoopLanes(uint32_t lanes) : lanes(lanes) {}
};
struct ncclGin_None {};
struct ncclGin_SignalAdd {
  uint32_t signal;
  uint64_t value;
};
TILEWIRE_DEVICE ncclTeam ncclTeamWorld(const ncclDevComm&) { return {}; }

#define TILEWIRE_GIN_GET 1

namespace tilewire::device {

TILEWIRE_DEVICE int64_t look_at(const int64_t* word) { return load_acquire<Scope::kGpu>(word); }

TILEWIRE_DEVICE void store_release(int64_t* word, int64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1; // virtual network" ::"l"(word), "l"(value)
               : "memory");
}

TILEWIRE_DEVICE void copy_bytes(uint64_t to, uint64_t from, uint64_t bytes) {
  if ((to | from | bytes) % 16 == 0) {
    TILEWIRE_ROLLED
    for (uint64_t i = 0; i < bytes; i += 16) {
      *reinterpret_cast<uint4*>(to + i) = *reinterpret_cast<const uint4*>(from + i);
    }
    return;
  }
  TILEWIRE_ROLLED
  for (uint64_t i = 0; i < bytes; ++i) {
    *reinterpret_cast<uint8_t*>(to + i) = *reinterpret_cast<const uint8_t*>(from + i);
  }
}

/// What one rank has asked for on one context.
class VirtualWire {
 public:
  TILEWIRE_DEVICE VirtualWire(const VirtualNetwork& network, uint32_t rank, uint32_t context)
      : queue_(network.queues + uint64_t{rank} * network.num_contexts + context) {}

  TILEWIRE_DEVICE void ask(const VirtualRequest& request) const {
    const auto number = static_cast<int64_t>(
        atomicAdd(reinterpret_cast<unsigned long long*>(&queue_->num_asked), 1));
    TILEWIRE_ROLLED
    while (number - look_at(&queue_->num_done) >= kVirtualRequests) carry_out();
    VirtualRequest* const to = &queue_->requests[number % kVirtualRequests];
    to->to = request.to;
    to->from = request.from;
    to->bytes = request.bytes;
    to->value = request.value;
    to->kind = request.kind;
    store_release(&to->number, number + 1);
  }

  /// What has been asked for is done, whoever does it.
  TILEWIRE_DEVICE void flush() const {
    const int64_t asked = look_at(&queue_->num_asked);
    TILEWIRE_ROLLED
    while (look_at(&queue_->num_done) < asked) carry_out();
  }

  /// As much as is there, unless another thread is about it.
  TILEWIRE_DEVICE void carry_out() const {
    if (look_at(&queue_->num_done) == look_at(&queue_->num_asked)) return;
    if (atomicCAS(&queue_->is_taken, 0u, 1u) != 0) return;
    fence<Scope::kGpu>();
    int64_t done = look_at(&queue_->num_done);
    TILEWIRE_ROLLED
    while (is_there(done)) {
      int64_t end = done;
      TILEWIRE_ROLLED
      while (is_there(end) && at(end).kind != VirtualRequest::kSignal) ++end;
      TILEWIRE_ROLLED
      for (int64_t i = end; i > done; --i) carry_out(at(i - 1));
      if (end == done) signal(at(end++));
      done = end;
      store_release(&queue_->num_done, done);
    }
    fence<Scope::kGpu>();
    atomicExch(&queue_->is_taken, 0u);
  }

 private:
  TILEWIRE_DEVICE const VirtualRequest& at(int64_t number) const {
    return queue_->requests[number % kVirtualRequests];
  }
  TILEWIRE_DEVICE bool is_there(int64_t number) const {
    return look_at(&at(number).number) == number + 1;
  }
  static TILEWIRE_DEVICE void carry_out(const VirtualRequest& request) {
    const bool is_value = request.kind == VirtualRequest::kValue;
    copy_bytes(request.to, is_value ? reinterpret_cast<uint64_t>(&request.value) : request.from,
               request.bytes);
  }
  static TILEWIRE_DEVICE void signal(const VirtualRequest& request) {
    fence<Scope::kSystem>();
    atomicAdd(reinterpret_cast<unsigned long long*>(request.to), request.value);
  }

  VirtualQueue* const queue_;
};

}  // namespace tilewire::device

class ncclGin {
 public:
  TILEWIRE_DEVICE ncclGin(const ncclDevComm& comm, uint32_t context)
      : comm_(comm), context_(context), wire_(comm, comm.rank, context) {}

  template <typename Told, typename Coop>
  TILEWIRE_DEVICE void put(ncclTeam team, int peer, ncclWindow_t to, uint64_t to_offset,
                           ncclWindow_t from, uint64_t from_offset, uint64_t bytes, Told told,
                           ncclGin_None, Coop coop, ncclGin_None, cuda::thread_scope,
                           cuda::thread_scope) const {
    wire_.ask({to->address(peer, to_offset), from->address(comm_.rank, from_offset), bytes, 0,
               Request::kCopy, 0});
    signal(team, peer, told, coop, ncclGin_None{}, cuda::thread_scope_system,
           cuda::thread_scope_system);
  }

  template <typename Word, typename Coop>
  TILEWIRE_DEVICE void putValue(ncclTeam, int peer, ncclWindow_t to, uint64_t offset, Word word,
                                ncclGin_None, Coop, ncclGin_None, cuda::thread_scope,
                                cuda::thread_scope) const {
    wire_.ask({to->address(peer, offset), 0, sizeof(Word), uint64_t{word}, Request::kValue, 0});
  }

  TILEWIRE_DEVICE void get(ncclTeam, int peer, ncclWindow_t from, uint64_t from_offset,
                           ncclWindow_t to, uint64_t to_offset, uint64_t bytes) const {
    wire_.ask({to->address(comm_.rank, to_offset), from->address(peer, from_offset), bytes, 0,
               Request::kCopy, 0});
  }

  template <typename Coop>
  TILEWIRE_DEVICE void signal(ncclTeam, int peer, ncclGin_SignalAdd told, Coop, ncclGin_None,
                              cuda::thread_scope, cuda::thread_scope) const {
    wire_.ask({reinterpret_cast<uint64_t>(comm_.signal(peer, context_, told.signal)), 0, 0,
               told.value, Request::kSignal, 0});
  }
  template <typename Coop>
  TILEWIRE_DEVICE void signal(ncclTeam, int, ncclGin_None, Coop, ncclGin_None, cuda::thread_scope,
                              cuda::thread_scope) const {}

  TILEWIRE_DEVICE void flush(ncclCoopLanes) const { wire_.flush(); }

  TILEWIRE_DEVICE uint64_t readSignal(uint32_t signal, int) const {
    TILEWIRE_ROLLED
    for (int rank = 0; rank < comm_.nRanks; ++rank) {
      tilewire::device::VirtualWire(comm_, rank, context_).carry_out();
    }
    return tilewire::device::look_at(comm_.signal(comm_.rank, context_, signal));
  }

  /// Behind what the peers have asked for.
  TILEWIRE_DEVICE void resetSignal(uint32_t signal) const {
    TILEWIRE_ROLLED
    for (int rank = 0; rank < comm_.nRanks; ++rank) {
      tilewire::device::VirtualWire(comm_, rank, context_).flush();
    }
    tilewire::device::store_release(comm_.signal(comm_.rank, context_, signal), 0);
  }

 private:
  using Request = tilewire::device::VirtualRequest;

  const ncclDevComm& comm_;
  const uint32_t context_;
  const tilewire::device::VirtualWire wire_;
};
