#include "runtime/cpu/network_references.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/dtype.h"
#include "compiler/ops/memory.h"
#include "compiler/support/error.h"
#include "runtime/cpu/absent_rank.h"
#include "runtime/cpu/network_barrier.h"
#include "runtime/cpu/scheduler.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {
namespace {

std::int64_t integer(const CpuTile& scalar) {
  return *static_cast<const std::int64_t*>(scalar.data);
}

/// A rank's memory of a window or of objects.
std::byte* memory_of(const CpuTile& parameter, std::int64_t rank) {
  return static_cast<std::byte* const*>(parameter.data)[rank];
}

/// UserError at the line where there is no such rank.
Network::Route route_to(CpuInstance& instance, std::int64_t peer, std::int64_t line) {
  const auto ranks = Scheduler::of(instance).ranks();
  const auto world = static_cast<std::int64_t>(ranks.size());
  const auto own = static_cast<std::size_t>(instance.rank);
  if (peer < 0 || peer >= world) {
    throw absent_rank_error(instance, peer, CountedIn::kWorld, world,
                            {ranks[own].kernel->artifact().source_file, static_cast<int>(line), 0});
  }
  return {static_cast<int>(instance.rank),
          Network::context_of_instance(instance.linear_program_id()), static_cast<int>(peer)};
}

const Network::Ticket& ticket_of(CpuInstance& instance) {
  Network::Ticket& ticket = static_cast<FiberTask&>(instance).ticket;
  if (ticket == nullptr) ticket = std::make_shared<std::int64_t>(0);
  return ticket;
}

/// The elements that a copy moves, as runs: `dimensions` are extent and both strides of each.
std::vector<Network::Run> runs_of(std::byte* to, const std::byte* from, const CpuTile* dimensions,
                                  const std::int64_t* constants) {
  const auto rank = static_cast<std::size_t>(constants[0]);
  const std::int64_t element = constants[1];
  const auto number = [&](std::size_t dimension, std::size_t which) {
    return integer(dimensions[3 * dimension + which]);
  };
  std::vector<Network::Run> runs;
  for (std::size_t i = 0; i < rank; ++i) {
    if (number(i, 0) <= 0) return runs;
  }
  const bool is_run = number(rank - 1, 1) == 1 && number(rank - 1, 2) == 1;
  const std::int64_t count = is_run ? number(rank - 1, 0) : 1;
  std::vector<std::int64_t> index(rank);
  while (true) {
    std::int64_t to_offset = 0;
    std::int64_t from_offset = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      to_offset += index[i] * number(i, 1);
      from_offset += index[i] * number(i, 2);
    }
    runs.push_back({to + to_offset * element, from + from_offset * element,
                    static_cast<std::size_t>(count * element)});
    index[rank - 1] += count;
    for (std::size_t i = rank - 1; index[i] == number(i, 0); --i) {
      if (i == 0) return runs;
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

/// tiles: to, rank, its bytes, from, its bytes, then extent and both strides of each dimension.
void put(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const Network::Route route = route_to(*instance, integer(tiles[1]), constants[2]);
  std::vector<Network::Run> runs =
      runs_of(memory_of(tiles[0], route.peer) + integer(tiles[2]),
              memory_of(tiles[3], route.rank) + integer(tiles[4]), tiles + 5, constants);
  if (runs.empty()) return;
  Scheduler::of(*instance).network().put(route, std::move(runs), ticket_of(*instance));
}

/// tiles: to, its bytes, from, rank, its bytes, then as for `put`.
void get(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const Network::Route route = route_to(*instance, integer(tiles[3]), constants[2]);
  std::vector<Network::Run> runs =
      runs_of(memory_of(tiles[0], route.rank) + integer(tiles[1]),
              memory_of(tiles[2], route.peer) + integer(tiles[4]), tiles + 5, constants);
  if (runs.empty()) return;
  Scheduler::of(*instance).network().get(route, std::move(runs), ticket_of(*instance));
}

/// What `tilewire_network_store` is given, by name; constants as emit_cpu_store says.
class TileOfStore {
 public:
  TileOfStore(const CpuTile* tiles, const std::int64_t* constants)
      : tile_(tiles[3]), bytes_(num_bytes(static_cast<DType>(tile_.dtype))) {
    const auto rank = static_cast<std::size_t>(constants[1]);
    const CpuTile* next = tiles + 4;
    dimensions_.resize(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t* given = constants + 5 + 3 * i;
      dimensions_[i] = {given[0], given[1] == kDynamic ? integer(*next++) : given[1], 0, given[0]};
    }
    for (std::size_t i = 0; i < rank; ++i) {
      if (constants[5 + 3 * i + 2] == 0) continue;
      dimensions_[i].begin = integer(*next++);
      dimensions_[i].bound = integer(*next++);
    }
    if (constants[2] != 0) exists_ = *static_cast<const bool*>((next++)->data);
    if (constants[4] >= 0) {
      gather_ = static_cast<std::size_t>(constants[4]);
      offsets_ = next++;
    }
    if (constants[3] != 0) where_ = next;
  }

  /// The elements that exist, as runs to `to`.
  std::vector<Network::Run> runs(std::byte* to) const {
    std::vector<Network::Run> runs;
    std::int64_t count = 1;
    for (const Dimension& dimension : dimensions_) count *= dimension.size;
    std::vector<std::int64_t> index(dimensions_.size());
    for (std::int64_t i = 0; exists_ && i < count; ++i) {
      std::int64_t rest = i;
      for (std::size_t d = dimensions_.size(); d-- > 0; rest /= dimensions_[d].size) {
        index[d] = rest % dimensions_[d].size;
      }
      add(runs, to, index, i);
    }
    return runs;
  }

 private:
  struct Dimension {
    std::int64_t size;
    std::int64_t stride;
    std::int64_t begin;
    std::int64_t bound;
  };

  void add(std::vector<Network::Run>& runs, std::byte* to, const std::vector<std::int64_t>& index,
           std::int64_t element) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t position = dimensions_[d].begin + index[d];
      if (position < 0 || position >= dimensions_[d].bound) return;
      offset += index[d] * dimensions_[d].stride;
    }
    if (where_ != nullptr && !flag(*where_, element)) return;
    if (offsets_ != nullptr) {
      const std::int64_t further = offset_of(index);
      if (further == TileAccess::kOutside) return;
      offset += further;
    }
    const auto* from =
        static_cast<const std::byte*>(tile_.data) + (tile_.rank == 0 ? 0 : element * bytes_);
    const auto size = static_cast<std::size_t>(bytes_);
    std::byte* place = to + offset * bytes_;
    if (!runs.empty() && runs.back().to + runs.back().num_bytes == place &&
        runs.back().from + runs.back().num_bytes == from) {
      runs.back().num_bytes += size;
    } else {
      runs.push_back({place, from, size});
    }
  }

  static bool flag(const CpuTile& tile, std::int64_t element) {
    return static_cast<const bool*>(tile.data)[tile.rank == 0 ? 0 : element];
  }

  /// Of an index tile, whose dimensions are the tile's from `gather_` on.
  std::int64_t offset_of(const std::vector<std::int64_t>& index) const {
    std::int64_t place = 0;
    for (std::int64_t d = 0; d < offsets_->rank; ++d) {
      place = place * offsets_->shape[d] + index[gather_ + static_cast<std::size_t>(d)];
    }
    return static_cast<const std::int64_t*>(offsets_->data)[place];
  }

  const CpuTile& tile_;
  std::int64_t bytes_;
  std::vector<Dimension> dimensions_;
  bool exists_ = true;
  const CpuTile* where_ = nullptr;
  const CpuTile* offsets_ = nullptr;
  std::size_t gather_ = 0;
};

/// tiles: to, rank, its bytes, the tile, then what its access takes.
void store(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const Network::Route route = route_to(*instance, integer(tiles[1]), constants[0]);
  const TileOfStore tile(tiles, constants);
  std::vector<Network::Run> runs = tile.runs(memory_of(tiles[0], route.peer) + integer(tiles[2]));
  if (!runs.empty()) Scheduler::of(*instance).network().send(route, std::move(runs));
}

/// tiles: semaphores, rank, element, n, and a predicate if `constants` say so.
void signal(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  if (constants[1] != 0 && !*static_cast<const bool*>(tiles[4].data)) return;
  const Network::Route route = route_to(*instance, integer(tiles[1]), constants[0]);
  const auto* cells =
      reinterpret_cast<const device::SemaphoreCell*>(memory_of(tiles[0], route.peer));
  Scheduler::of(*instance).network().signal(route, {cells + integer(tiles[2])},
                                            *static_cast<const std::uint32_t*>(tiles[3].data));
}

void flush(CpuInstance* instance) { Scheduler::of(*instance).flush(*instance); }

void barrier(CpuInstance* instance, std::uint32_t site, std::uint32_t is_of_rail,
             std::uint32_t releases) {
  cpu_network_barrier(*instance, {is_of_rail != 0, releases != 0}, site);
}

void grid_barrier(CpuInstance* instance, std::uint32_t site, std::uint32_t is_of_rail,
                  std::uint32_t releases) {
  cpu_network_grid_barrier(*instance, {is_of_rail != 0, releases != 0}, site);
}

}  // namespace

std::vector<CpuSymbol> network_references() {
  return {{"tilewire_network_put", reinterpret_cast<void*>(put)},
          {"tilewire_network_get", reinterpret_cast<void*>(get)},
          {"tilewire_network_store", reinterpret_cast<void*>(store)},
          {"tilewire_network_signal", reinterpret_cast<void*>(signal)},
          {"tilewire_network_flush", reinterpret_cast<void*>(flush)},
          {"tilewire_network_barrier", reinterpret_cast<void*>(barrier)},
          {"tilewire_network_grid_barrier", reinterpret_cast<void*>(grid_barrier)}};
}

}  // namespace tilewire
