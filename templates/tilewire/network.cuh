// The network: what goes to ranks whose memory no load or store reaches, by NCCL's `ncclGin`.
//
// An instance uses one of its contexts, and those of the channels' slots that it sends to. A signal
// is seen at a rank only behind all that was put to that rank on the same context before it; puts
// among themselves come in any order; a flush says that sources were read, never that anything is
// visible there.
//
// The first warp of a CTA makes all calls of NCCL, so that its flush covers every put, as NCCL has
// it, but for its last lane, which watches the others (network_watch.cuh). All threads may call the
// functions; none synchronises them but what takes staging memory, where that is full: what other
// threads wrote is put, or told, only behind a __syncthreads, and what a flush or a wait has
// brought may be relied on only behind one. Each put and signal that may follow stores stands
// behind a system fence of its own, and tells NCCL so: it need not fence again.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/network_calls.cuh"

namespace tilewire::device {

/// An element of this rank's own copy, so many bytes behind element 0.
template <typename T>
TILEWIRE_DEVICE T* own_place(const WindowHandle& window, int64_t bytes) {
  return reinterpret_cast<T*>(static_cast<char*>(window.local) + bytes);
}

/// One instance's end of the network. It lives as long as the instance: on every way out of the
/// kernel its destructor waits until the sources of what was put are read.
class Network {
 public:
  /// `site`: where reports of calls that don't return say that they are.
  TILEWIRE_DEVICE Network(const ncclDevComm& comm, const Lane& lane, uint32_t site)
      : comm_(comm),
        lane_(lane),
        site_(site),
        context_(linear_program_id() % lane.num_contexts),
        staging_(StagingRing::of(lane.staging_offset, lane.staging_bytes, linear_program_id(),
                                 gridDim.x * gridDim.y * gridDim.z)) {}
  TILEWIRE_DEVICE ~Network() { flush(); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  TILEWIRE_DEVICE const ncclDevComm& comm() const { return comm_; }
  TILEWIRE_DEVICE const Lane& lane() const { return lane_; }
  TILEWIRE_DEVICE uint32_t context() const { return context_; }
  /// All of a channel's messages through one slot take one context, whichever instances send them
  /// in one launch and the next: they are to come in their order.
  TILEWIRE_DEVICE uint32_t context_of_slot(int64_t slot) const {
    return static_cast<uint32_t>(slot % lane_.num_contexts);
  }

  /// Copies elements of `kElement` bytes from this rank's copy of a window to rank `rank`'s of
  /// another, from the outermost dimension to the innermost.
  template <int kElement, typename... Dims>
  TILEWIRE_DEVICE void put(const WindowHandle& to, int64_t rank, int64_t to_bytes,
                           const WindowHandle& from, int64_t from_bytes, const Dims&... dims) {
    unflushed_ |= mark_of(context_);
    if (threadIdx.x >= kNetworkThreads) return;
    const CopyDim all[] = {dims...};
    network_put_runs<kElement>(comm_, lane_, site_, context_, peer(rank), place_in(to, to_bytes),
                               place_in(from, from_bytes),
                               static_cast<const char*>(from.local) + from_bytes,
                               PutRuns<sizeof...(Dims)>::of(all, kElement));
  }

  /// One element, in the message itself.
  template <typename T>
  TILEWIRE_DEVICE void put_value(const WindowHandle& to, int64_t rank, int64_t to_bytes, T value) {
    if (threadIdx.x >= kNetworkThreads) return;
    watched([&] {
      if (threadIdx.x != 0) return;
      fence_system();
      network_put_word(comm_, context_, peer(rank), place_in(to, to_bytes), bits_of(value));
    });
  }

#if defined(TILEWIRE_GIN_GET)
  /// As `put`, from rank `rank`'s copy of `from` to this rank's of `to`; complete behind a flush.
  template <int kElement, typename... Dims>
  TILEWIRE_DEVICE void get(const WindowHandle& to, int64_t to_bytes, const WindowHandle& from,
                           int64_t rank, int64_t from_bytes, const Dims&... dims) {
    unflushed_ |= mark_of(context_);
    has_gets_ = true;
    if (threadIdx.x >= kNetworkThreads) return;
    const CopyDim all[] = {dims...};
    network_get_runs<kElement>(comm_, lane_, site_, context_, peer(rank), place_in(to, to_bytes),
                               place_in(from, from_bytes),
                               PutRuns<sizeof...(Dims)>::of(all, kElement));
  }
#endif

  /// Adds to one of a peer's semaphores, behind all that this instance put there.
  template <Order kOrder>
  TILEWIRE_DEVICE void signal(const WindowHandle& semaphores, int64_t rank, int64_t element,
                              uint32_t n) {
    add_signal<kOrder == Order::kRelease>(
        context_, peer(rank), static_cast<uint32_t>(semaphores.first_signal + element), n);
  }

  /// To one rank, whichever thread 0 says.
  template <bool kReleases>
  TILEWIRE_DEVICE void add_signal(uint32_t context, int rank, uint32_t signal, uint32_t n) {
    if (threadIdx.x >= kNetworkThreads) return;
    watched([&] {
      if (threadIdx.x == 0) network_add_signal<kReleases>(comm_, context, rank, signal, n);
    });
  }

  /// Waits until the sources of this instance's puts are read, and its gets are complete.
  TILEWIRE_DEVICE void flush() {
    const uint32_t unflushed = unflushed_;
    if (unflushed == 0) return;
    const bool has_gets = has_gets_;
    unflushed_ = 0;
    has_gets_ = false;
    if (threadIdx.x >= kNetworkThreads) return;
    TILEWIRE_ROLLED
    for (uint32_t context = 0; context < lane_.num_contexts; ++context) {
      if ((unflushed & mark_of(context)) == 0) continue;
      network_flush_puts(comm_, lane_, site_, context, has_gets);
    }
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
    unflushed_ |= mark_of(context_);
    if (threadIdx.x >= kNetworkThreads) return;
    network_put_tile(comm_, lane_, site_, context_, peer(rank),
                     place_in(to, bytes_from(to, access.pointer)), staged_place(place), access);
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
    unflushed_ |= mark_of(context_);
    if (threadIdx.x >= kNetworkThreads) return;
    network_put_elements(
        comm_, lane_, site_, context_, peer(rank), place_in(to, bytes_from(to, access.pointer)),
        staged_place(place + A::kElements * sizeof(int64_t)),
        reinterpret_cast<const int64_t*>(staged(place)), A::kElements, sizeof(*access.pointer));
  }

  /// `calls()` by each calling lane, by the whole first warp.
  template <typename Calls>
  TILEWIRE_DEVICE void watched(const Calls& calls) const {
    device::watched(lane_, site_, calls);
  }

  /// By a calling lane, watched: a message that all threads have laid into staging memory.
  TILEWIRE_DEVICE void put_message(uint32_t context, uint64_t place, uint64_t bytes,
                                   const WindowHandle& to, int rank, int64_t to_bytes,
                                   uint32_t signal) {
    network_put_message(comm_, context, rank, place_in(to, to_bytes), staged_place(place), bytes,
                        signal);
  }
  /// What was put by `put_message` on a context, by whichever thread, is flushed in time.
  TILEWIRE_DEVICE void note_message(uint32_t context) { unflushed_ |= mark_of(context); }

 private:
  /// A bit for each of 32 contexts; further ones share them.
  static TILEWIRE_DEVICE uint32_t mark_of(uint32_t context) { return 1u << context % 32; }

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
  const uint32_t site_;
  const uint32_t context_;
  StagingRing staging_;
  uint32_t unflushed_ = 0;  ///< contexts (`mark_of`) with puts or gets that may be under way
  bool has_gets_ = false;   ///< with gets
};

}  // namespace tilewire::device
