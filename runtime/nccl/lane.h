#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/driver/kernel.h"
#include "runtime/driver/memory.h"
#include "runtime/nccl/stream_order.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// The size of a lane's state and where its parts lie in it (see `device::Lane`).
struct LaneShape {
  std::uint32_t num_slots = 0;  ///< barrier slots: the GPU's largest co-resident grid
  std::uint64_t barrier_offset = 0;
  std::uint64_t phase_offset = 0;
  std::uint64_t grid_offset = 0;
  std::uint64_t num_bytes = 0;

  /// For kernels of any size on a GPU with `num_sms` that holds `max_ctas_per_sm` each.
  static LaneShape of(int num_sms, int max_ctas_per_sm, int lsa_size);
};

/// The synchronisation state that launches of one rank share. Its launches never overlap: they run
/// in the order of `launch` calls, whichever streams they are on. From another stream than the last
/// one, a launch waits for what that stream held when it was made. Launches recorded into one graph
/// are ordered among themselves alike, and not against eager launches: the caller orders replays
/// against the lane's other work. A stream must outlive the lane's next launch after its own.
/// Calls on one lane must not overlap in time; lanes are independent of each other.
class Lane {
 public:
  struct Setup {
    int rank = 0;                      ///< world rank
    device::WindowHandle window = {};  ///< a window of the lane's own, zeroed on all ranks
    LaneShape shape;
    std::vector<std::byte> device_comm;  ///< `ncclDevComm`
    bool exclusive = false;              ///< nothing else waits on this GPU: no cooperative launch
  };
  Lane(const Device& device, Setup setup);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Launches after everything launched on this lane before. HangError where the lane has hung,
  /// UserError where it was aborted; later launches raise as well. See `GpuKernel::launch`.
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream, const ArgumentValue* values);

  /// The caller's promise that nothing else waits on this GPU while this lane's kernels do: they
  /// launch without the cooperative attribute. Counts from the next launch on.
  void set_exclusive(bool exclusive) { context_.exclusive = exclusive; }

  std::uint32_t num_slots() const { return setup_.shape.num_slots; }
  const device::Lane& arguments() const { return arguments_; }

  /// Makes every wait of this lane's kernels return at once; the lane is over.
  void abort();
  bool is_aborted() const;
  /// Whether a wait has given up: the GPU's context is dead or about to be.
  bool has_hung() const;
  /// Throws what `launch` would, without launching.
  void check() const;

 private:
  std::uint32_t stop_word() const;
  void order_after_last(cuda::Stream stream);
  [[noreturn]] void raise_stopped() const;

  const Device& device_;
  Setup setup_;
  MappedMemory page_memory_;
  device::HangPage* page_;
  device::Lane arguments_;
  LaunchContext context_;
  OwnedEvent event_;
  StreamOrder order_;
};

}  // namespace tilewire
