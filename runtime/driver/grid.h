#pragma once

#include <cstdint>
#include <span>

#include "compiler/jit/artifact.h"

namespace tilewire {

/// `tw.auto`: the largest grid that is useful, for these values of `Program::dimensions`, and of at
/// most `limit` program instances; at least 1. Where instances run in clusters, whole clusters: the
/// last one may have instances that find nothing to do. InternalError where a bound names no
/// dimension.
int choose_grid(const Artifact& artifact, std::span<const std::int64_t> extents, int limit);

/// UserError where `grid` is below 1, where it isn't one of whole clusters, or where the kernel
/// waits for other CTAs and more than `limit` of them could not run at once; says which grid fits.
void check_grid(const Artifact& artifact, std::int64_t grid, int limit);

/// UserError where not one cluster of its program instances fits `limit`.
void require_one_cluster(const Artifact& artifact, int limit);

/// The largest number of program instances, up to `limit`, that are whole clusters.
int whole_clusters(const Artifact& artifact, int limit);

}  // namespace tilewire
