#include "runtime/driver/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// How many program instances have something to do.
std::int64_t useful_instances(const Artifact& artifact, std::span<const std::int64_t> extents) {
  const LaunchRules& rules = artifact.launch;
  std::int64_t useful = rules.useful_grid.empty() ? std::numeric_limits<std::int32_t>::max() : 1;
  for (const auto& [dimension, number] : rules.useful_grid) {
    if (dimension == GridBound::kNone) {
      useful = std::max(useful, number);
      continue;
    }
    if (dimension < 0 || static_cast<std::size_t>(dimension) >= extents.size()) {
      throw InternalError(fmt::format("kernel `{}`: its grid depends on dimension {} of {}",
                                      artifact.kernel, dimension, extents.size()));
    }
    const std::int64_t extent = extents[static_cast<std::size_t>(dimension)];
    useful = std::max(useful, extent / number + (extent % number != 0 ? 1 : 0));
  }
  return useful;
}

/// `4 or 6`, of a grid that isn't one of whole clusters.
std::string grids_beside(std::int64_t grid, std::int64_t size, std::int64_t most) {
  const std::int64_t below = grid / size * size;
  const std::int64_t above = below + size;
  if (below == 0) return fmt::format("{}", above);
  if (above > most) return fmt::format("{}", below);
  return fmt::format("{} or {}", below, above);
}

}  // namespace

int whole_clusters(const Artifact& artifact, int limit) {
  return limit - limit % artifact.launch.cluster_size;
}

void require_one_cluster(const Artifact& artifact, int limit) {
  const int size = artifact.launch.cluster_size;
  if (size == 1 || limit >= size) return;
  throw UserError(
      fmt::format("kernel `{}`: its program instances run in clusters of {}, and a launch may have "
                  "{} here: give its lane more multiprocessors, or a virtual world fewer ranks",
                  artifact.kernel, size, limit));
}

int choose_grid(const Artifact& artifact, std::span<const std::int64_t> extents, int limit) {
  const LaunchRules& rules = artifact.launch;
  std::int64_t most = limit;
  if (rules.max_grid > 0) most = std::min(most, rules.max_grid);
  const std::int64_t size = rules.cluster_size;
  const std::int64_t useful = useful_instances(artifact, extents);
  const std::int64_t useful_clusters = useful / size + (useful % size != 0 ? 1 : 0);
  const std::int64_t clusters = std::min(useful_clusters, most / size);
  return static_cast<int>(std::max<std::int64_t>(1, clusters) * size);
}

void check_grid(const Artifact& artifact, std::int64_t grid, int limit) {
  if (grid < 1 || grid > std::numeric_limits<std::int32_t>::max()) {
    throw UserError(
        fmt::format("kernel `{}`: a grid of {}: it must be at least 1 and below 2^31 (tw.auto "
                    "chooses one)",
                    artifact.kernel, grid));
  }
  const bool waits = artifact.resources.waits;
  const int size = artifact.launch.cluster_size;
  if (grid % size != 0) {
    const std::int64_t most = waits ? limit : std::numeric_limits<std::int32_t>::max();
    throw UserError(
        fmt::format("kernel `{}`: a grid of {}, and its program instances run in clusters of {}: "
                    "use tw.auto or a multiple of {}, like {}",
                    artifact.kernel, grid, size, size, grids_beside(grid, size, most)));
  }
  if (waits && grid > limit) {
    const int fits = whole_clusters(artifact, limit);
    throw UserError(
        fmt::format("kernel `{}`: a grid of {} can't be resident at once, and its program "
                    "instances wait for others: the largest that fits this GPU is {}; use tw.auto "
                    "or a grid of at most {}",
                    artifact.kernel, grid, fits, fits));
  }
}

}  // namespace tilewire
