#include "runtime/cpu/multimem.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/cpu/reference.h"
#include "runtime/cpu/scheduler.h"

namespace tilewire {
namespace {

/// The numbers that choices of one access come from (SplitMix64).
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed) {}

  /// From 0 to `bound` - 1.
  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % bound;
  }

 private:
  std::uint64_t state_;
};

/// Another one for each access: from the world's random sequence, or, in launches that run on all
/// cores, from the place that is read.
Choices choices_of(const CpuInstance& instance, std::int64_t offset) {
  if (instance.scheduler != nullptr) return Choices(Scheduler::of(instance).draw());
  return Choices(static_cast<std::uint64_t>(offset) << 20 ^
                 static_cast<std::uint64_t>(instance.rank));
}

template <typename T>
T combined(T a, T b, CpuReduction reduction) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == CpuReduction::kMin) return std::fmin(a, b);
    if (reduction == CpuReduction::kMax) return std::fmax(a, b);
    return a + b;
  } else {
    using U = std::make_unsigned_t<T>;
    switch (reduction) {
      case CpuReduction::kAdd:
        return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case CpuReduction::kMin:
        return a < b ? a : b;
      case CpuReduction::kMax:
        return a > b ? a : b;
      case CpuReduction::kAnd:
        return static_cast<T>(a & b);
      case CpuReduction::kOr:
        return static_cast<T>(a | b);
      case CpuReduction::kXor:
        return static_cast<T>(a ^ b);
    }
    return a;
  }
}

/// The copies of one element, in an order that nobody knows before.
template <typename T, typename Accumulator>
Accumulator reduced(std::int64_t offset, const std::byte* const* copies, std::int64_t num_copies,
                    CpuReduction reduction, Choices choices) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(num_copies));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::size_t>(choices.below(i + 1));
    order[i] = order[at];
    order[at] = static_cast<std::int64_t>(i);
  }
  const auto value = [&](std::int64_t copy) {
    return static_cast<Accumulator>(*reinterpret_cast<const T*>(copies[copy] + offset));
  };
  Accumulator result = value(order[0]);
  for (std::size_t i = 1; i < order.size(); ++i) {
    result = combined(result, value(order[i]), reduction);
  }
  return result;
}

/// One element at `own`, a place in this rank's copy of a window, reduced over the copies of its
/// LSA team. `result`: f32 for narrower floats, else the element's dtype.
void multimem_load(CpuInstance* instance, void* result, const std::byte* own,
                   const std::byte* const* copies, std::int64_t dtype, std::int64_t reduction,
                   std::int64_t num_copies) {
  const std::int64_t offset = own - copies[instance->rank];
  const std::byte* const* team = copies + (instance->rank - instance->rank % num_copies);
  CpuTile element;
  element.dtype = dtype;
  visit_dtype(element, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>) {
      throw InternalError("multimem has no reduction of bool");
    } else {
      using Accumulator = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
      *static_cast<Accumulator*>(result) =
          reduced<T, Accumulator>(offset, team, num_copies, static_cast<CpuReduction>(reduction),
                                  choices_of(*instance, offset));
    }
  });
}

}  // namespace

std::vector<CpuSymbol> multimem_references() {
  return {{"tilewire_multimem_load", reinterpret_cast<void*>(multimem_load)}};
}

}  // namespace tilewire
