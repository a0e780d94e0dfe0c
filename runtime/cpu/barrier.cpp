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

/// All instances of the ranks have arrived at this rank's words. Phases wrap around.
class AllInstancesArrived final : public WaitCondition {
 public:
  AllInstancesArrived(Scheduler& scheduler, const FiberTask& task, bool is_local,
                      std::uint32_t target)
      : scheduler_(scheduler),
        lane_(scheduler.lane(static_cast<int>(task.rank))),
        task_(task),
        is_local_(is_local),
        target_(target) {}

  bool is_met() const override {
    const int num_words = is_local_ ? 1 : lane_.lsa_size();
    for (int i = 0; i < num_words; ++i) {
      if (!is_whole(i)) return false;
    }
    return true;
  }

  std::vector<AwaitedInstance> awaited() const override {
    std::vector<AwaitedInstance> missing;
    const int own = static_cast<int>(task_.rank);
    if (is_local_) add_missing(own, missing);
    const int begin = lane_.team_begin(CpuTeam::kLsa, own);
    for (int i = 0; !is_local_ && i < lane_.lsa_size(); ++i) {
      if (!is_whole(i)) add_missing(begin + i, missing);
    }
    return missing;
  }

 private:
  bool is_whole(int member) const {
    const std::uint32_t word =
        lane_.grid_word(static_cast<int>(task_.rank), is_local_ ? lane_.lsa_size() : member);
    return static_cast<std::int32_t>(word - target_) >= 0;
  }

  /// The instances of a rank that arrived less often than this one did.
  void add_missing(int rank, std::vector<AwaitedInstance>& missing) const {
    const std::size_t kind = is_local_ ? 1 : 0;
    const std::int64_t count = scheduler_.ranks()[static_cast<std::size_t>(rank)].num_instances();
    if (count == 0) missing.push_back({rank, task_.linear_program_id()});
    for (std::int64_t i = 0; i < count; ++i) {
      const FiberTask* other = scheduler_.task({rank, i});
      if (other == nullptr || other->grid_arrivals[kind] < task_.grid_arrivals[kind]) {
        missing.push_back({rank, i});
      }
    }
  }

  Scheduler& scheduler_;
  CpuLane& lane_;
  const FiberTask& task_;
  bool is_local_;
  std::uint32_t target_;
};

}  // namespace

void cpu_grid_barrier(CpuInstance& instance, bool is_local, std::uint32_t site) {
  Scheduler& scheduler = Scheduler::of(instance);
  auto& task = static_cast<FiberTask&>(instance);
  const int rank = static_cast<int>(instance.rank);
  CpuLane& lane = scheduler.lane(rank);
  const int begin = lane.team_begin(CpuTeam::kLsa, rank);
  const int own = is_local ? lane.lsa_size() : rank - begin;
  const auto num_instances = static_cast<std::uint32_t>(
      instance.num_programs[0] * instance.num_programs[1] * instance.num_programs[2]);
  const std::uint32_t arrival =
      instance.linear_program_id() == 0 ? device::kGridPhase - (num_instances - 1) : 1;

  const std::uint32_t target = device::next_grid_phase(lane.grid_word(rank, own));
  ++task.grid_arrivals[is_local ? 1 : 0];
  const auto arrive_at = [&](int member_rank) {
    lane.grid_word(member_rank, own) += arrival;
    scheduler.notify(&lane.grid_word(member_rank, is_local ? own : 0));
  };
  if (is_local) arrive_at(rank);
  for (int i = 0; !is_local && i < lane.lsa_size(); ++i) arrive_at(begin + i);
  const AllInstancesArrived condition(scheduler, task, is_local, target);
  scheduler.wait(instance, condition, &lane.grid_word(rank, is_local ? own : 0), site);
}

void cpu_barrier(CpuInstance& instance, CpuTeam team, std::uint32_t site) {
  Scheduler& scheduler = Scheduler::of(instance);
  const int rank = static_cast<int>(instance.rank);
  CpuLane& lane = scheduler.lane(rank);
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
