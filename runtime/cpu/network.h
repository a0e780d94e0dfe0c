#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

namespace tilewire {

/// The network of a virtual world (GIN's contract, and no more): what instances put, get and signal
/// is under way until it is delivered, at times and in an order that the seed chooses. It outlives
/// launches.
///
/// - A put reads its source at some time and writes its destination later, in two halves. Puts have
///   no order among themselves. A get does the same the other way.
/// - A signal is counted behind all that its source put, on the same context, to the same peer
///   before. What other contexts or ranks sent may come later. GPUs have few contexts, which
///   several instances and slots of channels share by their numbers; nobody may count on that, so
///   that each has one of its own here.
class Network {
 public:
  /// All numbers come from `random`, which belongs to the caller. None is drawn while nothing is
  /// under way.
  explicit Network(std::mt19937_64& random) : random_(random) {}

  using Context = std::int64_t;
  static constexpr Context context_of_instance(std::int64_t program) { return 2 * program; }
  static constexpr Context context_of_slot(std::int64_t slot) { return 2 * slot + 1; }

  /// Who sends to whom.
  struct Route {
    int rank;
    Context context;
    int peer;
    auto operator<=>(const Route&) const = default;
  };
  /// Bytes that lie side by side in both places.
  struct Run {
    std::byte* to;
    const std::byte* from;
    std::size_t num_bytes;
  };
  /// How many of an instance's puts have not read their source yet, and gets that aren't there.
  using Ticket = std::shared_ptr<std::int64_t>;
  /// What is counted: an address at the peer, and a number below the world's size.
  struct Place {
    const void* object;
    int number = 0;
  };
  /// Called where something has come that may be waited for at this address.
  using Notify = std::function<void(const void*)>;

  void put(const Route& route, std::vector<Run> runs, const Ticket& ticket);
  /// A put that reads its source at once.
  void send(const Route& route, std::vector<Run> runs);
  void get(const Route& route, std::vector<Run> runs, const Ticket& ticket);
  /// `is_ordered`: behind what was put before; else behind earlier signals alone.
  void signal(const Route& route, Place place, std::uint32_t n, bool is_ordered = true);

  /// Signals that have come; wraps around.
  std::uint32_t signals(Place place) const;
  /// Takes them away again, where nobody keeps how many were seen.
  void take(Place place, std::uint32_t n);

  /// Delivers something, or nothing, as the seed says: called at each turn of the scheduler.
  void pass(const Notify& notify);
  /// Delivers a part of something; false: nothing is under way.
  bool deliver_one(const Notify& notify);
  /// Delivers all.
  void drain(const Notify& notify);
  /// From any thread: nothing reads or writes these bytes any more.
  void forget(const std::byte* begin, std::size_t num_bytes);

  std::size_t num_under_way() const { return num_under_way_; }

 private:
  struct Operation {
    enum class Kind : std::uint8_t { kPut, kGet, kSignal };
    Kind kind = Kind::kPut;
    std::vector<Run> runs;
    std::vector<std::byte> bytes;  ///< of all runs, once they are read
    bool is_read = false;
    bool is_half_written = false;
    Ticket ticket;
    Place place{};
    std::uint32_t n = 0;
    bool is_ordered = true;

    void read();
    void write(std::size_t begin, std::size_t end) const;
  };
  struct Stream {
    Route route;
    std::vector<std::unique_ptr<Operation>> operations;  ///< in the order of their issue
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  void add(const Route& route, std::unique_ptr<Operation> operation);
  void change_pace();
  std::size_t choose(const Stream& stream);
  bool step(Operation& operation, const Notify& notify);
  void remove(std::size_t stream, std::size_t operation);

  std::mt19937_64& random_;
  mutable std::recursive_mutex mutex_;
  std::vector<Stream> streams_;           ///< those with something under way
  std::map<Route, std::size_t> indices_;  ///< route → index of its stream
  std::unordered_map<const void*, std::vector<std::uint32_t>> signals_;  ///< by object and number
  std::size_t num_under_way_ = 0;
  std::uint64_t patience_ = 1;  ///< turns to a delivery, about
  int held_back_ = -1;          ///< a rank that hardly anything comes to
  std::int64_t turns_left_ = 0;
};

}  // namespace tilewire
