#include "runtime/cpu/launch_state.h"

#include <fmt/format.h>

#include <span>

#include "compiler/support/error.h"
#include "runtime/cpu/reference.h"
#include "runtime/cpu/scheduler.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {
namespace {

/// An object in the memory of the ranks of one LSA team, as one of them sees it.
class TeamObject {
 public:
  /// `copies`: tile of a symmetric parameter; its data is the address of each rank's memory.
  TeamObject(const CpuInstance& instance, const CpuTile& copies, std::int64_t team_size)
      : addresses_(static_cast<const std::uint64_t*>(copies.data)),
        team_size_(static_cast<int>(team_size)),
        member_(static_cast<int>(instance.rank % team_size)),
        begin_(static_cast<int>(instance.rank) - member_) {}

  int team_size() const { return team_size_; }
  int member() const { return member_; }
  int world_rank(int member) const { return begin_ + member; }

  std::byte* memory(int member) const {
    return reinterpret_cast<std::byte*>(addresses_[world_rank(member)]);
  }
  device::LaunchState& state() const {
    return *reinterpret_cast<device::LaunchState*>(memory(member_));
  }
  /// What `member` has said to `to`: the last launch that it started.
  std::int64_t& started(int to, int member) const {
    return *reinterpret_cast<std::int64_t*>(
        memory(to) + device::started_offset(static_cast<std::uint64_t>(member)));
  }
  /// What waits for any of the object's words waits by.
  const void* key() const { return addresses_; }

 private:
  const std::uint64_t* addresses_;
  int team_size_;
  int member_;
  int begin_;
};

/// All peers have started a launch.
class PeersHaveStarted final : public WaitCondition {
 public:
  PeersHaveStarted(const TeamObject& object, std::int64_t launch)
      : object_(object), launch_(launch) {}

  bool is_met() const override {
    for (int member = 0; member < object_.team_size(); ++member) {
      if (!has_started(member)) return false;
    }
    return true;
  }

  std::vector<AwaitedInstance> awaited() const override {
    std::vector<AwaitedInstance> late;
    for (int member = 0; member < object_.team_size(); ++member) {
      if (!has_started(member)) late.push_back({object_.world_rank(member), 0});
    }
    return late;
  }

 private:
  bool has_started(int member) const {
    return member == object_.member() || object_.started(object_.member(), member) >= launch_;
  }

  const TeamObject& object_;
  std::int64_t launch_;
};

/// Others may run here, where the kernel waits at all.
void pass(CpuInstance& instance) {
  if (instance.scheduler != nullptr) Scheduler::of(instance).pass_access(instance);
}

std::int64_t number_in(const CpuTile& tile) { return elements<std::int64_t>(tile)[0]; }

// Constants of all of them begin with the LSA team's size. Kernels that don't wait run on several
// threads.

/// tiles: generation i64, object.
void generation(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const TeamObject object(*instance, tiles[1], constants[0]);
  pass(*instance);
  elements<std::int64_t>(tiles[0])[0] =
      device::launch_of(__atomic_load_n(&object.state().word, __ATOMIC_RELAXED));
}

/// tiles: object, generation.
void announce(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  if (instance->linear_program_id() != 0) return;
  const TeamObject object(*instance, tiles[0], constants[0]);
  for (int member = 0; member < object.team_size(); ++member) {
    if (member == object.member()) continue;
    pass(*instance);
    __atomic_store_n(&object.started(member, object.member()), number_in(tiles[1]),
                     __ATOMIC_RELEASE);
  }
  if (instance->scheduler != nullptr) Scheduler::of(*instance).notify(object.key());
}

/// tiles: object, generation; constants: distance, site.
void await_done(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const TeamObject object(*instance, tiles[0], constants[0]);
  const PeersHaveStarted condition(object, number_in(tiles[1]) - constants[1] + 1);
  Scheduler::of(*instance).wait(*instance, condition, object.key(),
                                static_cast<std::uint32_t>(constants[2]));
}

std::uint64_t num_instances(const CpuInstance& instance) {
  return static_cast<std::uint64_t>(instance.num_programs[0] * instance.num_programs[1] *
                                    instance.num_programs[2]);
}

/// tiles: object, generation; constants: number of flags (0: a window), where the first one is.
void leave(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const TeamObject object(*instance, tiles[0], constants[0]);
  const auto id = static_cast<std::uint64_t>(instance->linear_program_id());
  const std::uint64_t grid = num_instances(*instance);
  if (grid > device::kMaxLeavers) {
    throw UserError(fmt::format(
        "a launch that takes a flag array or a rotating window has at most {} program instances, "
        "this one has {}",
        device::kMaxLeavers, grid));
  }
  const auto num_flags = static_cast<std::uint64_t>(constants[1]);
  const std::span flags(
      reinterpret_cast<device::FlagElement*>(object.memory(object.member()) + constants[2]),
      num_flags);
  for (std::uint64_t i = id; i < num_flags; i += grid) {
    pass(*instance);
    flags[i].count[device::flag_turn(number_in(tiles[1]) + 2)] = 0;
  }
  pass(*instance);
  __atomic_fetch_add(&object.state().word, device::leaving(id, grid), __ATOMIC_RELAXED);
}

/// constants: site.
void join_task(CpuInstance* instance, const CpuTile*, const std::int64_t* constants) {
  if (instance->scheduler == nullptr || instance->in_task != 0) return;
  Scheduler::of(*instance).join_task(*instance, static_cast<std::uint32_t>(constants[0]));
}

template <typename Function>
CpuSymbol symbol(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

std::vector<CpuSymbol> launch_state_references() {
  return {symbol("tilewire_generation", generation), symbol("tilewire_announce", announce),
          symbol("tilewire_await_done", await_done), symbol("tilewire_leave", leave),
          symbol("tilewire_join_task", join_task)};
}

}  // namespace tilewire
