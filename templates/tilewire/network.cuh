// The network: what goes to ranks whose memory no load or store reaches, by NCCL's `ncclGin`.
//
// An instance uses one of its contexts. A signal is seen at a rank only behind all that was put to
// that rank on the same context before it; puts among themselves come in any order; a flush says
// that sources were read, never that anything is visible there.
//
// The first warp of a CTA makes all calls of NCCL, so that its flush covers every put, as NCCL has
// it. All threads may call the functions; none synchronises them but `stage`: what other threads
// wrote is put, or told, only behind a __syncthreads, and what a flush or a wait has brought may be
// relied on only behind one. Each put and signal that may follow stores stands behind a system
// fence of its own, and tells NCCL so: it need not fence again.
#pragma once

#include <nccl_device.h>

#include "tilewire/abi.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/meet.cuh"
#include "tilewire/memory.cuh"
#include "tilewire/network_layout.cuh"
#include "tilewire/order.cuh"
#include "tilewire/tile_pieces.cuh"
#include "tilewire/wire.cuh"

namespace tilewire::device {

/// Adds to a signal, behind all earlier puts on the context to the same rank.
#if defined(TILEWIRE_GIN_STRONG_SIGNALS)  // since NCCL 2.30, which has weaker ones too
using NetworkSignal = ncclGin_StrongSignalAdd;
#else
using NetworkSignal = ncclGin_SignalAdd;
#endif

inline constexpr int kNetworkThreads = 32;
/// What was written before has been released by the caller's fence.
inline constexpr cuda::thread_scope kFenced = cuda::thread_scope_system;

/// A place in a rank's copy of a window, as NCCL names it.
struct NetworkPlace {
  ncclWindow_t window;
  uint64_t offset;  ///< bytes from the window's start
};
TILEWIRE_DEVICE NetworkPlace place_in(const WindowHandle& window, int64_t bytes) {
  return {static_cast<ncclWindow_t>(window.window), window.offset + bytes};
}

// One function for all calls of a kind: NCCL's code for all of its back ends is long.

static __device__ __noinline__ void network_put_bytes(const ncclDevComm& comm, uint32_t context,
                                                      int peer, NetworkPlace to, NetworkPlace from,
                                                      uint64_t bytes) {
  const ncclGin gin(comm, context);
  gin.put(ncclTeamWorld(comm), peer, to.window, to.offset, from.window, from.offset, bytes,
          ncclGin_None{}, ncclGin_None{}, ncclCoopThread{}, ncclGin_None{}, kFenced, kFenced);
}

/// A message and the signal that tells of it.
static __device__ __noinline__ void network_put_message(const ncclDevComm& comm, uint32_t context,
                                                        int peer, NetworkPlace to,
                                                        NetworkPlace from, uint64_t bytes,
                                                        uint32_t signal) {
  fence_system();
  const ncclGin gin(comm, context);
  gin.put(ncclTeamWorld(comm), peer, to.window, to.offset, from.window, from.offset, bytes,
          NetworkSignal{signal, 1}, ncclGin_None{}, ncclCoopThread{}, ncclGin_None{}, kFenced,
          kFenced);
}

template <typename Word>
static __device__ __noinline__ void network_put_word(const ncclDevComm& comm, uint32_t context,
                                                     int peer, NetworkPlace to, Word word) {
  const ncclGin gin(comm, context);
  gin.putValue(ncclTeamWorld(comm), peer, to.window, to.offset, word, ncclGin_None{},
               ncclCoopThread{}, ncclGin_None{}, kFenced, kFenced);
}

/// `kReleases`: what was written before is seen by whoever sees the signal.
template <bool kReleases>
static __device__ __noinline__ void network_add_signal(const ncclDevComm& comm, uint32_t context,
                                                       int peer, uint32_t signal, uint32_t n) {
  if constexpr (kReleases) fence_system();
  const ncclGin gin(comm, context);
  gin.signal(ncclTeamWorld(comm), peer, NetworkSignal{signal, n}, ncclCoopThread{}, ncclGin_None{},
             kFenced, kFenced);
}

static __device__ __noinline__ void network_flush_puts(const ncclDevComm& comm, uint32_t context) {
  const ncclGin gin(comm, context);
  gin.flush(ncclCoopWarp{});
}

/// What has been added to a signal on one context; an acquire.
static __device__ __noinline__ uint32_t network_read_signal(const ncclDevComm& comm,
                                                            uint32_t context, uint32_t signal) {
  const ncclGin gin(comm, context);
  return static_cast<uint32_t>(gin.readSignal(signal, 32));
}

/// The same over all contexts: who signals may be any instance, on its own.
TILEWIRE_DEVICE uint32_t network_signals(const ncclDevComm& comm, const Lane& lane,
                                         uint32_t signal) {
  uint32_t sum = 0;
  TILEWIRE_ROLLED
  for (uint32_t context = 0; context < lane.num_contexts; ++context) {
    sum += network_read_signal(comm, context, signal);
  }
  return sum;
}

/// Puts the runs of a copy, one by each thread of the first warp in turn. Single elements travel in
/// the message itself; `from_local`: where the source begins in this rank's memory.
template <int kElement, int kRank>
static __device__ __noinline__ void network_put_runs(const ncclDevComm& comm, uint32_t context,
                                                     int peer, NetworkPlace to, NetworkPlace from,
                                                     const char* from_local, PutRuns<kRank> runs) {
  using Word = typename Bits<kElement>::type;
  fence_system();
  TILEWIRE_ROLLED
  for (int64_t i = threadIdx.x; i < runs.count; i += kNetworkThreads) {
    int64_t to_offset;
    int64_t from_offset;
    runs.offsets(i, to_offset, from_offset);
    const NetworkPlace run_to = {to.window, to.offset + to_offset};
    if (runs.bytes == kElement) {
      const Word word = *reinterpret_cast<const volatile Word*>(from_local + from_offset);
      network_put_word(comm, context, peer, run_to, word);
    } else {
      network_put_bytes(comm, context, peer, run_to, {from.window, from.offset + from_offset},
                        runs.bytes);
    }
  }
}

/// Puts what exists of a tile that lies staged, in pieces that lie side by side at both places.
/// `access`: its place in this rank's copy of the window, which is that in the peer's too.
template <typename A>
static __device__ __noinline__ void network_put_tile(const ncclDevComm& comm, uint32_t context,
                                                     int peer, NetworkPlace to, NetworkPlace from,
                                                     const A access) {
  constexpr int kElement = sizeof(*access.pointer);
  const TilePieces<A> pieces(access);
  fence_system();
  TILEWIRE_ROLLED
  for (int i = threadIdx.x; i < pieces.count(); i += kNetworkThreads) {
    const Run run = pieces.at(i);
    if (run.first >= run.last) continue;
    const int64_t first = int64_t{i} * pieces.elements + run.first;
    network_put_bytes(
        comm, context, peer, {to.window, to.offset + (run.offset + run.first) * kElement},
        {from.window, from.offset + first * kElement}, (run.last - run.first) * kElement);
  }
}

/// Puts elements that lie staged to where their offsets say, in elements; neighbours together that
/// are neighbours there too. A thread takes a stretch of them.
static __device__ __noinline__ void network_put_elements(const ncclDevComm& comm, uint32_t context,
                                                         int peer, NetworkPlace to,
                                                         NetworkPlace from, const int64_t* offsets,
                                                         int num_elements, int element_bytes) {
  const int stretch = divide_up(num_elements, kNetworkThreads);
  int first = threadIdx.x * stretch;
  const int end = smaller(first + stretch, num_elements);
  fence_system();
  TILEWIRE_ROLLED
  while (first < end) {
    const int last = end_of_run(offsets, first, end);
    const int64_t offset = offsets[first];
    if (offset != kNotPut) {
      network_put_bytes(comm, context, peer, {to.window, to.offset + offset * element_bytes},
                        {from.window, from.offset + int64_t{first} * element_bytes},
                        int64_t{last - first} * element_bytes);
    }
    first = last;
  }
}

#if defined(TILEWIRE_GIN_GET)  // since NCCL 2.30
/// Reads the runs of a copy from a peer; complete behind a flush.
template <int kElement, int kRank>
static __device__ __noinline__ void network_get_runs(const ncclDevComm& comm, uint32_t context,
                                                     int peer, NetworkPlace to, NetworkPlace from,
                                                     PutRuns<kRank> runs) {
  fence_system();
  const ncclGin gin(comm, context);
  TILEWIRE_ROLLED
  for (int64_t i = threadIdx.x; i < runs.count; i += kNetworkThreads) {
    int64_t to_offset;
    int64_t from_offset;
    runs.offsets(i, to_offset, from_offset);
    gin.get(ncclTeamWorld(comm), peer, from.window, from.offset + from_offset, to.window,
            to.offset + to_offset, runs.bytes);
  }
}
#endif

/// An element of this rank's own copy, so many bytes behind element 0.
template <typename T>
TILEWIRE_DEVICE T* own_place(const WindowHandle& window, int64_t bytes) {
  return reinterpret_cast<T*>(static_cast<char*>(window.local) + bytes);
}

/// One instance's end of the network. It lives as long as the instance: on every way out of the
/// kernel its destructor waits until the sources of what was put are read.
class Network {
 public:
  TILEWIRE_DEVICE Network(const ncclDevComm& comm, const Lane& lane)
      : comm_(comm),
        lane_(lane),
        context_(linear_program_id() % lane.num_contexts),
        staging_(StagingRing::of(lane.staging_offset, lane.staging_bytes, linear_program_id(),
                                 gridDim.x * gridDim.y * gridDim.z)) {}
  TILEWIRE_DEVICE ~Network() { flush(); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  TILEWIRE_DEVICE const ncclDevComm& comm() const { return comm_; }
  TILEWIRE_DEVICE const Lane& lane() const { return lane_; }
  TILEWIRE_DEVICE uint32_t context() const { return context_; }

  /// Copies elements of `kElement` bytes from this rank's copy of a window to rank `rank`'s of
  /// another, from the outermost dimension to the innermost.
  template <int kElement, typename... Dims>
  TILEWIRE_DEVICE void put(const WindowHandle& to, int64_t rank, int64_t to_bytes,
                           const WindowHandle& from, int64_t from_bytes, const Dims&... dims) {
    is_flushed_ = false;
    if (threadIdx.x >= kNetworkThreads) return;
    const CopyDim all[] = {dims...};
    network_put_runs<kElement>(comm_, context_, peer(rank), place_in(to, to_bytes),
                               place_in(from, from_bytes),
                               static_cast<const char*>(from.local) + from_bytes,
                               PutRuns<sizeof...(Dims)>::of(all, kElement));
  }

  /// One element, in the message itself.
  template <typename T>
  TILEWIRE_DEVICE void put_value(const WindowHandle& to, int64_t rank, int64_t to_bytes, T value) {
    if (threadIdx.x != 0) return;
    fence_system();
    network_put_word(comm_, context_, peer(rank), place_in(to, to_bytes), bits_of(value));
  }

#if defined(TILEWIRE_GIN_GET)
  /// As `put`, from rank `rank`'s copy of `from` to this rank's of `to`; complete behind a flush.
  template <int kElement, typename... Dims>
  TILEWIRE_DEVICE void get(const WindowHandle& to, int64_t to_bytes, const WindowHandle& from,
                           int64_t rank, int64_t from_bytes, const Dims&... dims) {
    is_flushed_ = false;
    if (threadIdx.x >= kNetworkThreads) return;
    const CopyDim all[] = {dims...};
    network_get_runs<kElement>(comm_, context_, peer(rank), place_in(to, to_bytes),
                               place_in(from, from_bytes),
                               PutRuns<sizeof...(Dims)>::of(all, kElement));
  }
#endif

  /// Adds to one of a peer's semaphores, behind all that this instance put there.
  template <Order kOrder>
  TILEWIRE_DEVICE void signal(const WindowHandle& semaphores, int64_t rank, int64_t element,
                              uint32_t n) {
    if (threadIdx.x != 0) return;
    network_add_signal<kOrder == Order::kRelease>(
        comm_, context_, peer(rank), static_cast<uint32_t>(semaphores.first_signal + element), n);
  }

  /// Waits until the sources of this instance's puts are read, and its gets are complete.
  TILEWIRE_DEVICE void flush() {
    if (is_flushed_) return;
    is_flushed_ = true;
    if (threadIdx.x < kNetworkThreads) network_flush_puts(comm_, context_);
  }

  /// Room in staging memory: bytes from the start of the lane's window, in all threads. Where the
  /// memory is full, all threads meet behind a flush.
  TILEWIRE_DEVICE uint64_t make_room(uint64_t bytes) {
    if (!staging_.has_room(bytes)) {
      flush();
      meet();
      staging_.restart();
    }
    return staging_.take(bytes);
  }
  TILEWIRE_DEVICE char* staged(uint64_t place) const {
    return static_cast<char*>(lane_.local) + place;
  }

  /// All threads lay a tile into staging memory, from where `put_staged` takes it behind a
  /// __syncthreads.
  template <typename T, typename L>
  TILEWIRE_DEVICE uint64_t stage(const Tile<T, L>& tile) {
    const uint64_t place = make_room(L::kElements * sizeof(T));
    constexpr int kVector = smaller(L::kVector, 16 / static_cast<int>(sizeof(T)));
    store<kVector>(reinterpret_cast<T*>(staged(place)), tile);
    return place;
  }
  /// Puts it to where `access` says in this rank's own copy of the window, but in the peer's.
  template <typename A>
  TILEWIRE_DEVICE void put_staged(uint64_t place, const WindowHandle& to, int64_t rank,
                                  const A& access) {
    is_flushed_ = false;
    if (threadIdx.x >= kNetworkThreads) return;
    network_put_tile(comm_, context_, peer(rank), place_in(to, bytes_from(to, access.pointer)),
                     staged_place(place), access);
  }

  /// The same of a tile of which any elements may be left out, or lie anywhere: where each of them
  /// goes is staged with it.
  template <typename T, typename L, typename A, typename Where>
  TILEWIRE_DEVICE uint64_t stage_elements(const Tile<T, L>& tile, const A& access,
                                          const Where& where) {
    const uint64_t place = make_room(L::kElements * (sizeof(int64_t) + sizeof(T)));
    int64_t* const offsets = reinterpret_cast<int64_t*>(staged(place));
    T* const elements = reinterpret_cast<T*>(offsets + L::kElements);
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) {
      if (!L::owns(threadIdx.x, i)) continue;
      const Run run = run_of<L, 1>(access, i);
      const bool is_put = run.first <= 0 && run.last > 0 && element(where, i);
      const int index = L::element(threadIdx.x, i);
      offsets[index] = is_put ? run.offset : kNotPut;
      elements[index] = tile.get(i);
    }
    return place;
  }
  template <typename A>
  TILEWIRE_DEVICE void put_elements(uint64_t place, const WindowHandle& to, int64_t rank,
                                    const A& access) {
    is_flushed_ = false;
    if (threadIdx.x >= kNetworkThreads) return;
    network_put_elements(comm_, context_, peer(rank), place_in(to, bytes_from(to, access.pointer)),
                         staged_place(place + A::kElements * sizeof(int64_t)),
                         reinterpret_cast<const int64_t*>(staged(place)), A::kElements,
                         sizeof(*access.pointer));
  }

  /// By one thread of the first warp: a message that all threads have laid into staging memory.
  TILEWIRE_DEVICE void put_message(uint64_t place, uint64_t bytes, const WindowHandle& to, int rank,
                                   int64_t to_bytes, uint32_t signal) {
    network_put_message(comm_, context_, rank, place_in(to, to_bytes), staged_place(place), bytes,
                        signal);
  }
  /// What was put by `put_message`, by whichever thread, is flushed in time.
  TILEWIRE_DEVICE void note_message() { is_flushed_ = false; }

 private:
  TILEWIRE_DEVICE NetworkPlace staged_place(uint64_t place) const {
    return {static_cast<ncclWindow_t>(lane_.window), place};
  }
  /// How far an address in this rank's own copy lies from element 0.
  static TILEWIRE_DEVICE int64_t bytes_from(const WindowHandle& window, const void* address) {
    return static_cast<const char*>(address) - static_cast<const char*>(window.local);
  }
  /// A rank that isn't there has no memory.
  TILEWIRE_DEVICE int peer(int64_t rank) const {
    if (rank < 0 || rank >= comm_.nRanks) __trap();
    return static_cast<int>(rank);
  }

  const ncclDevComm& comm_;
  const Lane& lane_;
  const uint32_t context_;
  StagingRing staging_;
  bool is_flushed_ = true;
};

}  // namespace tilewire::device
