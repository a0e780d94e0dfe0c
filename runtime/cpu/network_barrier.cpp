#include "runtime/cpu/network_barrier.h"

#include <cstddef>
#include <vector>

#include "runtime/cpu/barrier.h"
#include "runtime/cpu/scheduler.h"

namespace tilewire {
namespace {

/// All others have signalled.
class AllSignalled final : public WaitCondition {
 public:
  AllSignalled(const Network& network, const void* inbox, const std::vector<int>& others,
               std::int64_t slot)
      : network_(network), inbox_(inbox), others_(others), slot_(slot) {}

  bool is_met() const override {
    while (num_met_ < others_.size() && has_come(others_[num_met_])) ++num_met_;
    return num_met_ == others_.size();
  }
  std::vector<AwaitedInstance> awaited() const override {
    std::vector<AwaitedInstance> missing;
    for (const int rank : others_) {
      if (!has_come(rank)) missing.push_back({rank, slot_});
    }
    return missing;
  }

 private:
  bool has_come(int rank) const {
    return static_cast<std::int32_t>(network_.signals({inbox_, rank})) > 0;
  }

  const Network& network_;
  const void* inbox_;
  const std::vector<int>& others_;
  std::int64_t slot_;
  mutable std::size_t num_met_ = 0;  ///< of them have come, and stay: this is asked at each signal
};

/// The ranks of the team that loads and stores don't reach.
std::vector<int> far_ranks(Scheduler& scheduler, int rank, bool is_of_rail) {
  const int lsa_size = scheduler.lane(rank).lsa_size();
  std::vector<int> others;
  for (int other = 0; other < static_cast<int>(scheduler.ranks().size()); ++other) {
    const bool is_near = other / lsa_size == rank / lsa_size;
    const bool is_on_rail = other % lsa_size == rank % lsa_size;
    if (!is_near && (is_on_rail || !is_of_rail)) others.push_back(other);
  }
  return others;
}

}  // namespace

void cpu_network_barrier(CpuInstance& instance, NetworkMeeting meeting, std::uint32_t site) {
  Scheduler& scheduler = Scheduler::of(instance);
  Network& network = scheduler.network();
  const int rank = static_cast<int>(instance.rank);
  const std::int64_t slot = instance.linear_program_id();
  const Network::Context context = Network::context_of_instance(slot);
  CpuLane& lane = scheduler.lane(rank);
  const std::vector<int> others = far_ranks(scheduler, rank, meeting.is_of_rail);
  // The signals are counted by the address of a word for this slot that nothing else counts.
  for (const int other : others) {
    network.signal({rank, context, other}, {lane.inbox(CpuTeam::kWorld, other, slot), rank}, 1,
                   meeting.releases);
  }
  const void* inbox = lane.inbox(CpuTeam::kWorld, rank, slot);
  scheduler.wait(instance, AllSignalled(network, inbox, others, slot), inbox, site);
  for (const int other : others) network.take({inbox, other}, 1);
}

void cpu_network_grid_barrier(CpuInstance& instance, NetworkMeeting meeting, std::uint32_t site) {
  cpu_grid_barrier(instance, true, site);
  cpu_network_barrier(instance, meeting, site);
  if (!meeting.is_of_rail) cpu_barrier(instance, CpuTeam::kLsa, site);
  cpu_grid_barrier(instance, true, site);
}

}  // namespace tilewire
