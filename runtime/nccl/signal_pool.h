#pragma once

#include <cstdint>
#include <map>
#include <string_view>

namespace tilewire {

/// Which of a communicator's signals over the network belong to which lane or object: book-keeping,
/// alike on all ranks, since every step is made by all of them in one order. Numbers are the same
/// on each of the network's contexts, and count from 1: 0 stands for none.
class SignalPool {
 public:
  explicit SignalPool(std::uint64_t num_signals = 0) : num_signals_(num_signals) {}

  /// The first of `count` neighbouring numbers: the smallest hole that they fit in, else the first
  /// of several. `what`: the call, for the UserError where there is none (it names
  /// TILEWIRE_GIN_SIGNALS).
  std::uint64_t take(std::uint64_t count, std::string_view what);
  void give_back(std::uint64_t first);

  /// Whether some of what was just taken had an owner before: its signals may have been added to.
  bool was_used(std::uint64_t first) const { return first < used_; }
  /// From now on it counts as used.
  void note_used(std::uint64_t first);

  std::uint64_t num_free() const;

 private:
  std::uint64_t num_signals_;
  std::uint64_t used_ = 0;                        ///< numbers below have had an owner
  std::map<std::uint64_t, std::uint64_t> taken_;  ///< first → count
};

}  // namespace tilewire
