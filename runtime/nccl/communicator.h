#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/nccl/nccl.h"
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
  /// Collective: stands on an `ncclComm_t` that somebody else owns (PyTorch) and must keep alive.
  static std::shared_ptr<Communicator> adopt(void* nccl_comm);

  ~Communicator() override;

  int agree_minimum(std::string_view what, std::uint64_t agreement, int value) override;
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
              const ArgumentValue* values) override;
  void barrier() override;
  void close() override;

 protected:
  std::unique_ptr<Window> allocate(std::size_t num_bytes) override;
  void agree_on_window(std::string_view what, std::uint64_t value) override;

 private:
  struct State;
  Communicator(const Device& device, int rank, Target target, std::size_t device_comm_bytes,
               std::unique_ptr<State> state);
  static std::shared_ptr<Communicator> make(nccl::Comm comm, bool owned, int device_ordinal);
  void agree_on_facts();
  void make_lane();
  void abandon();

  std::unique_ptr<State> state_;
};

}  // namespace tilewire
