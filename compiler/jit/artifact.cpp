#include "compiler/jit/artifact.h"

#include <fmt/format.h>

#include "compiler/support/error.h"

namespace tilewire {

std::int64_t LaunchRules::num_places(std::span<const std::int64_t> extents) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  const std::int64_t places = evaluate(arrivals, extents);
  if (places <= kMost) return places;
  throw UserError(fmt::format(
      "instances arrive at {} places in this launch, of 8 bytes each; {} are the most that it may "
      "have (places=, or tiles with split_k=)",
      places, kMost));
}

}  // namespace tilewire
