#include "runtime/nccl/signal_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/support/error.h"

namespace tilewire {

std::uint64_t SignalPool::take(std::uint64_t count, std::string_view what) {
  std::optional<std::uint64_t> best;
  std::uint64_t least_room = 0;
  std::uint64_t begin = 1;
  const auto consider = [&](std::uint64_t end) {
    const std::uint64_t room = end > begin ? end - begin : 0;
    if (room < count || (best && room >= least_room)) return;
    best = begin;
    least_room = room;
  };
  for (const auto& [first, size] : taken_) {
    consider(first);
    begin = first + size;
  }
  consider(num_signals_);
  if (!best) {
    throw UserError(
        fmt::format("{} takes {} signals of the network in a row, of which {} of the "
                    "communicator's {} are left: free objects, or set TILEWIRE_GIN_SIGNALS to more",
                    what, count, num_free(), num_signals_));
  }
  if (count > 0) taken_[*best] = count;
  return *best;
}

void SignalPool::give_back(std::uint64_t first) { taken_.erase(first); }

void SignalPool::note_used(std::uint64_t first) {
  const auto found = taken_.find(first);
  if (found != taken_.end()) used_ = std::max(used_, first + found->second);
}

std::uint64_t SignalPool::num_free() const {
  std::uint64_t free = num_signals_ > 0 ? num_signals_ - 1 : 0;
  for (const auto& [first, size] : taken_) free -= size;
  return free;
}

}  // namespace tilewire
