#include "runtime/cpu/flag.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>

#include "compiler/support/error.h"
#include "runtime/cpu/object_slice.h"
#include "runtime/cpu/scheduler.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {
namespace {

using device::FlagElement;

/// A slice of flags, each until it was set `count` times in a launch, or filled for it.
struct AwaitedFlags {
  FlagElement* first;
  ObjectSlice slice;
  std::int64_t launch;
  std::uint32_t count;

  FlagElement& flag(std::int64_t element) const { return first[slice.place(element)]; }
  std::uint32_t sets(std::int64_t element) const {
    return __atomic_load_n(&flag(element).count[device::flag_turn(launch)], __ATOMIC_ACQUIRE);
  }
  std::int64_t fills(std::int64_t element) const {
    return __atomic_load_n(&flag(element).filled, __ATOMIC_ACQUIRE);
  }
  bool is_up(std::int64_t element) const {
    return sets(element) >= count || fills(element) >= launch;
  }
};

/// One of them is up. Reports tell of all.
class IsUp final : public WaitCondition {
 public:
  IsUp(const AwaitedFlags& flags, std::int64_t element) : flags_(flags), element_(element) {}

  bool is_met() const override { return flags_.is_up(element_); }

  std::string missing() const override {
    std::vector<std::string> parts;
    for (std::int64_t i = 0; i < flags_.slice.num_elements(); ++i) {
      if (flags_.is_up(i)) continue;
      parts.push_back(describe(i));
      if (parts.size() == kMaxListed) break;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  static constexpr std::size_t kMaxListed = 8;

  std::string describe(std::int64_t element) const {
    const std::string of = flags_.slice.shape.empty()
                               ? ""
                               : fmt::format(" of its element {}", flags_.slice.indices(element));
    if (const std::int64_t fills = flags_.fills(element); fills > 0) {
      return fmt::format("fill {}{} came, this is launch {}", fills, of, flags_.launch);
    }
    return fmt::format("{} of {} sets{} came", flags_.sets(element), flags_.count, of);
  }

  const AwaitedFlags& flags_;
  std::int64_t element_;
};

std::string source_file_of(const CpuInstance& instance) {
  if (instance.scheduler == nullptr) return {};
  const auto rank = static_cast<std::size_t>(instance.rank);
  return Scheduler::of(instance).ranks()[rank].kernel->artifact().source_file;
}

/// `line`: of the set, in the kernel's source file.
void set_flag(CpuInstance* instance, FlagElement* flag, std::int64_t launch, std::int64_t line) {
  if (__atomic_load_n(&flag->filled, __ATOMIC_ACQUIRE) != 0) {
    throw UserError(
        "set: this flag was filled by copies (flag.fill): a kernel may only wait for it",
        {source_file_of(*instance), static_cast<int>(line), 0});
  }
  if (instance->scheduler != nullptr) Scheduler::of(*instance).pass_access(*instance);
  __atomic_fetch_add(&flag->count[device::flag_turn(launch)], 1, __ATOMIC_ACQ_REL);
  if (instance->scheduler != nullptr) Scheduler::of(*instance).notify(flag);
}

/// tiles: the address, count u32, generation i64. constants: site, number of dimensions, extents,
/// strides.
void wait_flags(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const AwaitedFlags flags{static_cast<FlagElement*>(tiles[0].data), ObjectSlice::of(constants + 1),
                           *static_cast<const std::int64_t*>(tiles[2].data),
                           *static_cast<const std::uint32_t*>(tiles[1].data)};
  const auto site = static_cast<std::uint32_t>(constants[0]);
  // Nothing lowers a count while its launch runs: one that is up stays so.
  for (std::int64_t i = 0; i < flags.slice.num_elements(); ++i) {
    Scheduler::of(*instance).wait(*instance, IsUp(flags, i), &flags.flag(i), site);
  }
}

}  // namespace

std::vector<CpuSymbol> flag_references() {
  return {{"tilewire_set_flag", reinterpret_cast<void*>(set_flag)},
          {"tilewire_wait_flags", reinterpret_cast<void*>(wait_flags)}};
}

}  // namespace tilewire
