#include "runtime/cpu/barrier.h"

#include <vector>

#include "runtime/cpu/scheduler.h"

namespace tilewire {
namespace {

/// All members of the team have announced `phase` to this rank. Phases wrap around.
class AllArrived final : public WaitCondition {
 public:
  AllArrived(const std::uint32_t* inbox, int team_size, int team_begin, std::uint32_t phase,
             std::int64_t slot)
      : inbox_(inbox), team_size_(team_size), team_begin_(team_begin), phase_(phase), slot_(slot) {}

  bool is_met() const override {
    for (int member = 0; member < team_size_; ++member) {
      if (!has_arrived(member)) return false;
    }
    return true;
  }

  std::vector<AwaitedInstance> awaited() const override {
    std::vector<AwaitedInstance> missing;
    for (int member = 0; member < team_size_; ++member) {
      if (!has_arrived(member)) missing.push_back({team_begin_ + member, slot_});
    }
    return missing;
  }

 private:
  bool has_arrived(int member) const {
    return static_cast<std::int32_t>(inbox_[member] - phase_) >= 0;
  }

  const std::uint32_t* inbox_;
  int team_size_;
  int team_begin_;
  std::uint32_t phase_;
  std::int64_t slot_;
};

}  // namespace

void cpu_barrier(CpuInstance& instance, CpuTeam team, std::uint32_t site) {
  Scheduler& scheduler = Scheduler::of(instance);
  CpuLane& lane = scheduler.lane();
  const int rank = static_cast<int>(instance.rank);
  const int begin = lane.team_begin(team, rank);
  const std::int64_t slot = instance.linear_program_id();
  const std::uint32_t phase = lane.phase(team, rank, slot) + 1;

  for (int member = 0; member < lane.team_size(team); ++member) {
    std::uint32_t* inbox = lane.inbox(team, begin + member, slot);
    inbox[rank - begin] = phase;
    scheduler.notify(inbox);
  }
  const std::uint32_t* own = lane.inbox(team, rank, slot);
  const AllArrived condition(own, lane.team_size(team), begin, phase, slot);
  scheduler.wait(instance, condition, own, site);
  lane.phase(team, rank, slot) = phase;
}

}  // namespace tilewire
