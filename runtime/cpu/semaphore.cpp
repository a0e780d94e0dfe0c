#include "runtime/cpu/semaphore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>

#include "runtime/cpu/object_slice.h"
#include "runtime/cpu/scheduler.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {
namespace {

using device::SemaphoreCell;

/// The semaphores of a slice, each until it has `n` signals, also of those that came by the
/// network.
struct AwaitedSemaphores {
  SemaphoreCell* first;
  ObjectSlice slice;
  std::uint32_t n;
  const Network& network;

  SemaphoreCell& cell(std::int64_t element) const { return first[slice.place(element)]; }
  std::uint32_t signals_left(std::int64_t element) const {
    const SemaphoreCell& cell = this->cell(element);
    return __atomic_load_n(&cell.signals, __ATOMIC_ACQUIRE) + network.signals({&cell}) -
           cell.consumed;
  }
  bool has_enough(std::int64_t element) const {
    const std::uint32_t left = signals_left(element);
    return left >= n && static_cast<std::int32_t>(left) >= 0;
  }
};

/// One of them has its signals. Reports tell of all.
class HasSignals final : public WaitCondition {
 public:
  HasSignals(const AwaitedSemaphores& awaited, std::int64_t element)
      : awaited_(awaited), element_(element) {}

  bool is_met() const override { return awaited_.has_enough(element_); }

  std::string missing() const override {
    std::vector<std::string> parts;
    for (std::int64_t i = 0; i < awaited_.slice.num_elements(); ++i) {
      if (awaited_.has_enough(i)) continue;
      const std::string of = awaited_.slice.shape.empty()
                                 ? ""
                                 : fmt::format(" to its element {}", awaited_.slice.indices(i));
      parts.push_back(
          fmt::format("{} of {} signals came{}", awaited_.signals_left(i), awaited_.n, of));
      if (parts.size() == kMaxListed) break;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  static constexpr std::size_t kMaxListed = 8;

  const AwaitedSemaphores& awaited_;
  std::int64_t element_;
};

void signal_semaphore(CpuInstance* instance, void* cell, std::uint32_t n) {
  if (instance->scheduler != nullptr) Scheduler::of(*instance).pass_access(*instance);
  __atomic_fetch_add(&static_cast<SemaphoreCell*>(cell)->signals, n, __ATOMIC_ACQ_REL);
  if (instance->scheduler != nullptr) Scheduler::of(*instance).notify(cell);
}

/// tiles: the address, n. constants: site, number of dimensions, extents, strides.
void wait_semaphores(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  Scheduler& scheduler = Scheduler::of(*instance);
  const auto site = static_cast<std::uint32_t>(constants[0]);
  const AwaitedSemaphores awaited{
      static_cast<SemaphoreCell*>(tiles[0].data), ObjectSlice::of(constants + 1),
      *static_cast<const std::uint32_t*>(tiles[1].data), scheduler.network()};
  // Only this instance takes signals away: one that has enough keeps them.
  for (std::int64_t i = 0; i < awaited.slice.num_elements(); ++i) {
    SemaphoreCell& cell = awaited.cell(i);
    scheduler.claim(*instance, &cell, site, "waits for the same semaphore");
    scheduler.wait(*instance, HasSignals(awaited, i), &cell, site);
  }
  for (std::int64_t i = 0; i < awaited.slice.num_elements(); ++i) {
    awaited.cell(i).consumed += awaited.n;
  }
}

}  // namespace

std::vector<CpuSymbol> semaphore_references() {
  return {{"tilewire_signal_semaphore", reinterpret_cast<void*>(signal_semaphore)},
          {"tilewire_wait_semaphores", reinterpret_cast<void*>(wait_semaphores)}};
}

}  // namespace tilewire
