#pragma once

#include <cstdint>
#include <random>

namespace tilewire {

/// What the scheduler of a virtual world leaves to chance, besides which of its choices it takes:
/// how long an instance runs before others may, and which rank is slow. Both change from time to
/// time, so that some seeds interrupt at almost every access, others hardly ever, and now and then
/// one rank falls far behind the others.
class Pace {
 public:
  /// All numbers come from `random`, which belongs to the caller.
  Pace(std::mt19937_64& random, int world_size);

  /// From 0 to `bound` - 1, alike.
  std::uint64_t below(std::uint64_t bound);

  /// Draws how often to interrupt from now on, and who is slow.
  void change();

  /// After how many accesses to memory the instance that goes on now is interrupted. At least 1.
  std::int64_t next_turn();

  /// How many turns instances get while a rank's host does something. Often none.
  std::int64_t turns_meanwhile();

  /// Whether an instance of this rank, chosen to go on, must let others go first.
  bool holds_back(int rank);

 private:
  std::mt19937_64& random_;
  std::uint64_t num_ranks_;
  std::uint64_t mean_turn_ = 1;
  std::uint64_t slow_rank_ = 0;  ///< `num_ranks_`: none
  std::int64_t turns_left_ = 0;  ///< until `change`
};

}  // namespace tilewire
