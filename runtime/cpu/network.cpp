#include "runtime/cpu/network.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace tilewire {
namespace {

/// Turns of the scheduler from one delivery to the next, about; the last one: hardly ever.
constexpr std::uint64_t kPatience[] = {1, 4, 32, 100'000};
constexpr std::int64_t kTurnsPerPace = 200;
constexpr std::uint64_t kHeldBack = 32;  ///< such a rank is tried once where others are so often
constexpr std::uint64_t kMostAtOnce = 4;

bool meets(const std::byte* first, std::size_t size, const std::byte* begin, std::size_t bytes) {
  return first < begin + bytes && begin < first + size;
}

}  // namespace

/// Reads what the runs lead from, in their order.
void Network::Operation::read() {
  std::size_t size = 0;
  for (const Run& run : runs) size += run.num_bytes;
  bytes.resize(size);
  std::size_t at = 0;
  for (const Run& run : runs) {
    if (run.from != nullptr) std::memcpy(bytes.data() + at, run.from, run.num_bytes);
    at += run.num_bytes;
  }
  is_read = true;
}

/// Writes bytes `begin` to `end` of all to where the runs lead.
void Network::Operation::write(std::size_t begin, std::size_t end) const {
  std::size_t at = 0;
  for (const Run& run : runs) {
    const std::size_t first = std::max(at, begin);
    const std::size_t last = std::min(at + run.num_bytes, end);
    if (first < last && run.to != nullptr) {
      std::memcpy(run.to + (first - at), bytes.data() + first, last - first);
    }
    at += run.num_bytes;
  }
}

void Network::add(const Route& route, std::unique_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  if (operation->ticket != nullptr) ++*operation->ticket;
  const auto [found, is_new] = indices_.try_emplace(route, streams_.size());
  if (is_new) streams_.push_back({route, {}});
  streams_[found->second].operations.push_back(std::move(operation));
  ++num_under_way_;
}

void Network::put(const Route& route, std::vector<Run> runs, const Ticket& ticket) {
  auto operation = std::make_unique<Operation>();
  operation->runs = std::move(runs);
  operation->ticket = ticket;
  add(route, std::move(operation));
}

void Network::send(const Route& route, std::vector<Run> runs) {
  auto operation = std::make_unique<Operation>();
  operation->runs = std::move(runs);
  operation->read();
  for (Run& run : operation->runs) run.from = nullptr;
  add(route, std::move(operation));
}

void Network::get(const Route& route, std::vector<Run> runs, const Ticket& ticket) {
  auto operation = std::make_unique<Operation>();
  operation->kind = Operation::Kind::kGet;
  operation->runs = std::move(runs);
  operation->ticket = ticket;
  add(route, std::move(operation));
}

void Network::signal(const Route& route, Place place, std::uint32_t n, bool is_ordered) {
  auto operation = std::make_unique<Operation>();
  operation->kind = Operation::Kind::kSignal;
  operation->place = place;
  operation->n = n;
  operation->is_ordered = is_ordered;
  add(route, std::move(operation));
}

std::uint32_t Network::signals(Place place) const {
  const std::lock_guard lock(mutex_);
  const auto found = signals_.find(place.object);
  const auto number = static_cast<std::size_t>(place.number);
  return found == signals_.end() || number >= found->second.size() ? 0 : found->second[number];
}

void Network::take(Place place, std::uint32_t n) {
  const std::lock_guard lock(mutex_);
  signals_.at(place.object).at(static_cast<std::size_t>(place.number)) -= n;
}

void Network::change_pace() {
  patience_ = kPatience[below(std::size(kPatience))];
  const Stream& stream = streams_[below(streams_.size())];
  held_back_ = below(2) == 0 ? -1 : stream.route.peer;
  turns_left_ = kTurnsPerPace;
}

void Network::pass(const Notify& notify) {
  const std::lock_guard lock(mutex_);
  if (num_under_way_ == 0) return;
  if (--turns_left_ < 0) change_pace();
  if (below(patience_) != 0) return;
  for (std::uint64_t count = 1 + below(kMostAtOnce); count > 0 && num_under_way_ > 0; --count) {
    if (streams_[below(streams_.size())].route.peer == held_back_ && below(kHeldBack) != 0)
      continue;
    deliver_one(notify);
  }
}

/// Any of them, but for a signal that must come behind others: then the first one of those.
std::size_t Network::choose(const Stream& stream) {
  const auto& operations = stream.operations;
  const auto must_wait_for = [&](std::size_t chosen) {
    const auto last = operations.begin() + static_cast<std::ptrdiff_t>(chosen);
    return std::find_if(operations.begin(), last, [&](const auto& earlier) {
      if ((*last)->kind != Operation::Kind::kSignal) return false;
      const bool is_put = earlier->kind == Operation::Kind::kPut;
      return earlier->kind == Operation::Kind::kSignal || (is_put && (*last)->is_ordered);
    });
  };
  auto chosen = static_cast<std::size_t>(below(operations.size()));
  while (true) {
    const auto first = static_cast<std::size_t>(must_wait_for(chosen) - operations.begin());
    if (first == chosen) return chosen;
    chosen = first;
  }
}

bool Network::deliver_one(const Notify& notify) {
  const std::lock_guard lock(mutex_);
  if (num_under_way_ == 0) return false;
  const std::size_t stream = below(streams_.size());
  const std::size_t operation = choose(streams_[stream]);
  if (step(*streams_[stream].operations[operation], notify)) remove(stream, operation);
  return true;
}

/// The next part of it; whether that was the last.
bool Network::step(Operation& operation, const Notify& notify) {
  if (operation.kind == Operation::Kind::kSignal) {
    if (operation.place.object == nullptr) return true;
    std::vector<std::uint32_t>& counts = signals_[operation.place.object];
    const auto number = static_cast<std::size_t>(operation.place.number);
    if (number >= counts.size()) counts.resize(number + 1);
    counts[number] += operation.n;
    notify(operation.place.object);
    return true;
  }
  const bool is_get = operation.kind == Operation::Kind::kGet;
  const auto count_down = [&] {
    if (operation.ticket == nullptr || --*operation.ticket > 0) return;
    notify(operation.ticket.get());
  };
  if (!operation.is_read) {
    operation.read();
    if (!is_get) count_down();
    return false;
  }
  const std::size_t middle = operation.bytes.size() / 2;
  if (!std::exchange(operation.is_half_written, true)) {
    operation.write(0, middle);
    return false;
  }
  operation.write(middle, operation.bytes.size());
  if (is_get) count_down();
  return true;
}

void Network::remove(std::size_t stream, std::size_t operation) {
  auto& operations = streams_[stream].operations;
  operations.erase(operations.begin() + static_cast<std::ptrdiff_t>(operation));
  --num_under_way_;
  if (!operations.empty()) return;
  indices_.erase(streams_[stream].route);
  if (stream + 1 < streams_.size()) {
    streams_[stream] = std::move(streams_.back());
    indices_[streams_[stream].route] = stream;
  }
  streams_.pop_back();
}

void Network::drain(const Notify& notify) {
  while (deliver_one(notify)) {
  }
}

void Network::forget(const std::byte* begin, std::size_t num_bytes) {
  const std::lock_guard lock(mutex_);
  const auto is_inside = [&](const void* object) {
    return meets(static_cast<const std::byte*>(object), 1, begin, num_bytes);
  };
  for (Stream& stream : streams_) {
    for (const auto& operation : stream.operations) {
      if (is_inside(operation->place.object)) operation->place.object = nullptr;
      const bool is_source = std::ranges::any_of(operation->runs, [&](const Run& run) {
        return run.from != nullptr && meets(run.from, run.num_bytes, begin, num_bytes);
      });
      if (is_source && !operation->is_read) {
        operation->read();
        if (operation->kind == Operation::Kind::kPut && operation->ticket) --*operation->ticket;
      }
      for (Run& run : operation->runs) {
        if (meets(run.to, run.num_bytes, begin, num_bytes)) run.to = nullptr;
      }
    }
  }
  std::erase_if(signals_, [&](const auto& counted) { return is_inside(counted.first); });
}

}  // namespace tilewire
