#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// The teams that meet at a barrier on the CPU.
enum class CpuTeam : std::uint8_t { kLsa, kWorld };

/// The synchronisation state that the launches of a virtual world share, laid out as a GPU's lane
/// is: per barrier slot and rank an inbox with a word per source rank of the team, and the phase
/// that only the instance using the slot writes. Words count up and wrap around. Each rank also has
/// the words of grid barriers (`templates/tilewire/grid_barrier.cuh`).
class CpuLane {
 public:
  CpuLane(int world_size, int lsa_size);

  /// Makes room for this many slots; addresses that were handed out before become invalid.
  void cover(std::int64_t num_slots);

  int team_size(CpuTeam team) const { return team == CpuTeam::kLsa ? lsa_size_ : world_size_; }
  /// The world rank of the team's first member, for the team that `rank` is in.
  int team_begin(CpuTeam team, int rank) const {
    return team == CpuTeam::kLsa ? rank - rank % lsa_size_ : 0;
  }

  /// `team_size` words: what each member has announced to `rank` in this slot.
  std::uint32_t* inbox(CpuTeam team, int rank, std::int64_t slot) {
    return state(team).inbox.data() + index(rank, slot) * static_cast<std::size_t>(team_size(team));
  }
  /// Of grid barriers: at `rank`, the word of a member of its LSA team; `lsa_size`: its own alone.
  std::uint32_t& grid_word(int rank, int member) {
    return grid_words_[static_cast<std::size_t>(rank * (lsa_size_ + 1) + member)];
  }
  int lsa_size() const { return lsa_size_; }
  std::uint32_t& phase(CpuTeam team, int rank, std::int64_t slot) {
    return state(team).phase[index(rank, slot)];
  }

 private:
  struct State {
    std::vector<std::uint32_t> inbox;  ///< [slot][rank][member of the rank's team]
    std::vector<std::uint32_t> phase;  ///< [slot][rank]
  };
  State& state(CpuTeam team) { return team == CpuTeam::kLsa ? lsa_ : world_; }
  std::size_t index(int rank, std::int64_t slot) const {
    return static_cast<std::size_t>(slot * world_size_ + rank);
  }

  int world_size_;
  int lsa_size_;
  State lsa_;
  State world_;
  std::vector<std::uint32_t> grid_words_;  ///< [rank][member of its team, then the rank alone]
};

}  // namespace tilewire
