#include "runtime/cpu/semaphore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>

#include "runtime/cpu/scheduler.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {
namespace {

using device::SemaphoreCell;

/// Signals may come from kernels on other threads.
std::uint32_t signals_left(const SemaphoreCell& cell) {
  return __atomic_load_n(&cell.signals, __ATOMIC_ACQUIRE) - cell.consumed;
}

bool has(const SemaphoreCell& cell, std::uint32_t n) {
  const std::uint32_t left = signals_left(cell);
  return left >= n && static_cast<std::int32_t>(left) >= 0;
}

/// The semaphores of a slice, each until it has `n` signals.
struct Slice {
  SemaphoreCell* first;
  std::uint32_t n;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;

  std::int64_t num_elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
  }
  /// The element's indices in the slice.
  std::vector<std::int64_t> indices(std::int64_t element) const {
    std::vector<std::int64_t> indices(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; element /= shape[d]) {
      indices[d] = element % shape[d];
    }
    return indices;
  }
  SemaphoreCell& cell(std::int64_t element) const {
    std::int64_t place = 0;
    const std::vector<std::int64_t> at = indices(element);
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * strides[d];
    return first[place];
  }
};

/// One of them has its signals. Reports tell of all.
class HasSignals final : public WaitCondition {
 public:
  HasSignals(const Slice& slice, std::int64_t element) : slice_(slice), element_(element) {}

  bool is_met() const override { return has(slice_.cell(element_), slice_.n); }

  std::string missing() const override {
    std::vector<std::string> parts;
    for (std::int64_t i = 0; i < slice_.num_elements(); ++i) {
      const SemaphoreCell& cell = slice_.cell(i);
      if (has(cell, slice_.n)) continue;
      const std::string of =
          slice_.shape.empty() ? "" : fmt::format(" to its element {}", slice_.indices(i));
      parts.push_back(fmt::format("{} of {} signals came{}", signals_left(cell), slice_.n, of));
      if (parts.size() == kMaxListed) break;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  static constexpr std::size_t kMaxListed = 8;

  const Slice& slice_;
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
  const std::int64_t rank = constants[1];
  const Slice slice{static_cast<SemaphoreCell*>(tiles[0].data),
                    *static_cast<const std::uint32_t*>(tiles[1].data),
                    {constants + 2, constants + 2 + rank},
                    {constants + 2 + rank, constants + 2 + 2 * rank}};
  // Only this instance takes signals away: one that has enough keeps them.
  for (std::int64_t i = 0; i < slice.num_elements(); ++i) {
    SemaphoreCell& cell = slice.cell(i);
    scheduler.claim(*instance, &cell, site, "waits for the same semaphore");
    scheduler.wait(*instance, HasSignals(slice, i), &cell, site);
  }
  for (std::int64_t i = 0; i < slice.num_elements(); ++i) slice.cell(i).consumed += slice.n;
}

}  // namespace

std::vector<CpuSymbol> semaphore_references() {
  return {{"tilewire_signal_semaphore", reinterpret_cast<void*>(signal_semaphore)},
          {"tilewire_wait_semaphores", reinterpret_cast<void*>(wait_semaphores)}};
}

}  // namespace tilewire
