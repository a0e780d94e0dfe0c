#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/nccl/host_exchange.h"
#include "runtime/nccl/nccl.h"
#include "runtime/nccl/probe_rank.h"
#include "runtime/nccl/world.h"

namespace tilewire {

/// Ranks in processes of their own, one GPU each, over NCCL.
class Communicator : public GpuWorld {
 public:
  /// `ncclGetUniqueId`'s bytes: one rank makes them, its front hands them to the others.
  static std::string new_unique_id();

  /// Collective: a communicator of tilewire's own. UserError where ranks differ in what must be
  /// alike (GPU, LSA team, versions), naming both; BackendError where NCCL can't do what is needed.
  static std::shared_ptr<Communicator> create(const std::string& unique_id, int rank,
                                              int world_size, int device_ordinal);
  /// Collective: stands on an `ncclComm_t` that somebody else owns (PyTorch) and must keep alive
  /// until this one is closed.
  static std::shared_ptr<Communicator> adopt(void* nccl_comm);

  /// Without `close` before it: leaves windows and lanes where they are, since peers may use them.
  ~Communicator() override;

  int agree_minimum(std::string_view what, std::uint64_t agreement, int value) override;
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream, const ArgumentValue* values,
              LaneGroup* lane) override;
  void barrier() override;
  void close() override;

 protected:
  std::unique_ptr<Window> allocate(std::size_t num_bytes) override;
  void agree(std::string_view what, std::uint64_t value) override;
  std::vector<Allocation> exchange(std::string_view call, const Allocation& own) override;
  std::unique_ptr<LaneGroup> allocate_lane(int number, const LaneOptions& options) override;
  void reset_signals(std::uint64_t first, std::uint64_t count) override;

 private:
  Communicator(const Device& device, nccl::Comm comm, bool owned, int rank, Target target);
  static std::shared_ptr<Communicator> make(nccl::Comm comm, bool owned, const Device& device);
  void agree_on_facts();
  /// Collective: what the ranks have together, and a device communicator with that.
  void find_capabilities(const RankPlace& place);
  /// Asks NCCL for what all ranks may have. False where a rank was refused: `own` asks for less.
  bool make_device_comm(RankCapabilities& own);
  void make_first_lane();
  bool has_hung() const;
  void abandon() noexcept;

  nccl::Comm comm_;
  bool owned_;
  std::unique_ptr<HostExchange> exchange_;
  std::vector<std::byte> device_comm_;
  bool has_nccl_device_comm_ = false;  ///< `device_comm_` is NCCL's, and must be given back
};

}  // namespace tilewire
