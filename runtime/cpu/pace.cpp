#include "runtime/cpu/pace.h"

#include <iterator>

namespace tilewire {
namespace {

constexpr std::uint64_t kMeanTurns[] = {1, 4, 16, 64};  // accesses
constexpr std::int64_t kTurnsPerPace = 200;
constexpr std::uint64_t kSlowness = 32;  ///< a slow rank goes on once where others do 32 times

}  // namespace

Pace::Pace(std::mt19937_64& random, int world_size)
    : random_(random), num_ranks_(static_cast<std::uint64_t>(world_size)) {}

/// A library's distributions differ between implementations; this one doesn't. The bias is 2^-50.
std::uint64_t Pace::below(std::uint64_t bound) { return random_() % bound; }

void Pace::change() {
  mean_turn_ = kMeanTurns[below(std::size(kMeanTurns))];
  slow_rank_ = below(num_ranks_ + 1);
  turns_left_ = kTurnsPerPace;
}

std::int64_t Pace::next_turn() {
  if (--turns_left_ < 0) change();
  return 1 + static_cast<std::int64_t>(below(2 * mean_turn_));
}

std::int64_t Pace::turns_meanwhile() {
  return below(2) == 0 ? 0 : static_cast<std::int64_t>(below(kTurnsPerPace));
}

bool Pace::holds_back(int rank) {
  return static_cast<std::uint64_t>(rank) == slow_rank_ && below(kSlowness) != 0;
}

}  // namespace tilewire
