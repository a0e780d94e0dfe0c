#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/driver/kernel.h"
#include "runtime/driver/memory.h"
#include "runtime/nccl/stream_order.h"
#include "runtime/nccl/window.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// What a lane is given of its communicator's network; all 0 where there is none.
struct LaneNetwork {
  int world_size = 0;
  int num_contexts = 0;
  int num_signals = 0;  ///< of the communicator
  bool operator==(const LaneNetwork&) const = default;
};

/// The size of a lane's state and where its parts lie in it (see `device::Lane`).
struct LaneShape {
  /// Where tiles and messages lie until the network has read them.
  static constexpr std::uint64_t kStagingBytes = std::uint64_t{32} << 20;

  std::uint32_t num_slots = 0;  ///< barrier slots: the GPU's largest co-resident grid
  std::uint64_t barrier_offset = 0;
  std::uint64_t phase_offset = 0;
  std::uint64_t grid_offset = 0;
  std::uint64_t launch_offset =
      0;  ///< the word of the running launch, and `device::LaunchLog`s behind it
  /// Barrier slots over the network: as many, as far as a quarter of the communicator's signals
  /// goes.
  std::uint32_t network_slots = 0;
  std::uint32_t num_contexts = 0;
  std::uint64_t num_signals = 0;  ///< of those barriers
  std::uint64_t network_phase_offset = 0;
  std::uint64_t staging_offset = 0;
  std::uint64_t staging_bytes = 0;
  std::uint64_t num_bytes = 0;

  /// For kernels of any size on a GPU with `num_sms` that holds `max_ctas_per_sm` each.
  static LaneShape of(int num_sms, int max_ctas_per_sm, int lsa_size,
                      const LaneNetwork& network = {});
};

/// The synchronisation state that launches of one rank share. Its two-sided launches never overlap:
/// they run in the order of `launch` calls, whichever streams they are on. From another stream than
/// the last one, a launch waits for what that stream held when it was made. Launches recorded into
/// one graph are ordered among themselves alike, and not against eager launches: the caller orders
/// replays against the lane's other work. A stream must outlive the lane's next launch after its
/// own. So it is with launches that stage what they send over the network; other one-sided ones are
/// ordered by their streams only.
/// Calls on one lane must not overlap in time; lanes are independent of each other.
class Lane {
 public:
  struct Setup {
    int number = 0;
    int rank = 0;                      ///< world rank
    device::WindowHandle window = {};  ///< a window of the lane's own, zeroed on all ranks
    Window::Place place = {};          ///< of that window
    LaneShape shape;
    std::uint64_t first_signal = 0;      ///< of the shape's `num_signals`
    std::vector<std::byte> device_comm;  ///< `ncclDevComm`
    bool exclusive = false;              ///< nothing else waits on this GPU: no cooperative launch
  };
  Lane(const Device& device, Setup setup);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Launches; see above. A launch that fails ends the lane. HangError where the lane has hung or
  /// ranks launched different things, UserError where it was aborted, has ended, or ran two
  /// launches at once; later launches raise as well. See `GpuKernel::launch`.
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream, const ArgumentValue* values);

  /// Counts from the next launch on.
  void set_exclusive(bool exclusive) { context_.exclusive = exclusive; }

  /// What a kernel that takes no lane gets instead: where it is, and nothing else.
  static device::Lane place_of(int rank, int lsa_size);

  const LaneShape& shape() const { return setup_.shape; }
  const device::Lane& arguments() const { return arguments_; }

  /// Makes every wait of this lane's kernels return at once; the lane is over.
  void abort();
  /// The same, since a launch failed on some rank: `reason` says why, and later launches repeat it.
  void end(const std::string& reason);
  /// Whether its waits return at once: `abort`, `end`, or launches that didn't fit together.
  bool is_stopped() const;
  /// Whether a wait has given up: the GPU's context is dead or about to be.
  bool has_hung() const;
  /// Throws what `launch` would, without launching.
  void check();

 private:
  std::uint32_t stop_word() const;
  void stop(std::uint32_t word);
  void order_after_last(cuda::Stream stream);
  [[noreturn]] void raise_stopped();
  [[noreturn]] void raise_misfit();
  /// Ends the peers' waits for this rank's launches within a second or two, as far as stores reach.
  void tell_peers() noexcept;

  const Device& device_;
  Setup setup_;
  MappedMemory page_memory_;
  device::HangPage* page_;
  device::Lane arguments_;
  LaunchContext context_;
  OwnedEvent event_;
  StreamOrder order_;
  std::string end_;  ///< why a failed launch ended the lane
  bool has_told_peers_ = false;
};

}  // namespace tilewire
