#include "runtime/driver/grid.h"

#include <vector>

#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

Artifact in_clusters(int size, std::vector<GridBound> useful = {}) {
  Artifact artifact;
  artifact.kernel = "k";
  artifact.launch.cluster_size = size;
  artifact.launch.useful_grid = std::move(useful);
  return artifact;
}

}  // namespace

TEST_CASE("tw.auto takes what fits and what is useful") {
  Artifact artifact;
  artifact.kernel = "k";
  const std::vector<std::int64_t> extents = {7, 5000, 0};
  SECTION("no bound: all that fit") { CHECK(choose_grid(artifact, extents, 264) == 264); }
  SECTION("fewer rows than program instances") {
    artifact.launch.useful_grid = {{0, 1}};
    CHECK(choose_grid(artifact, extents, 264) == 7);
  }
  SECTION("several loops: the longest counts") {
    artifact.launch.useful_grid = {{0, 1}, {1, 1}};
    CHECK(choose_grid(artifact, extents, 264) == 264);
    CHECK(choose_grid(artifact, extents, 100000) == 5000);
  }
  SECTION("an empty array still gets one") {
    artifact.launch.useful_grid = {{2, 1}};
    CHECK(choose_grid(artifact, extents, 264) == 1);
  }
  SECTION("a dimension that there is not") {
    artifact.launch.useful_grid = {{3, 1}};
    CHECK_THROWS_AS(choose_grid(artifact, extents, 264), InternalError);
  }
}

TEST_CASE("a grid that can't be resident is refused for kernels that wait") {
  Artifact artifact;
  artifact.kernel = "k";
  CHECK_NOTHROW(check_grid(artifact, 100000, 264));
  artifact.resources.waits = true;
  CHECK_NOTHROW(check_grid(artifact, 264, 264));
  CHECK_THROWS_WITH(check_grid(artifact, 265, 264),
                    "kernel `k`: a grid of 265 can't be resident at once, and its program "
                    "instances wait for others: the largest that fits this GPU is 264; use tw.auto "
                    "or a grid of at most 264");
  CHECK_THROWS_AS(check_grid(artifact, 0, 264), UserError);
  CHECK_THROWS_AS(check_grid(artifact, std::int64_t{1} << 31, 264), UserError);
}

TEST_CASE("tw.auto takes whole clusters") {
  const std::vector<std::int64_t> extents = {7, 5000};
  CHECK(choose_grid(in_clusters(2), extents, 131) == 130);
  CHECK(choose_grid(in_clusters(4), extents, 131) == 128);
  // The last cluster has an instance that finds nothing to do.
  CHECK(choose_grid(in_clusters(2, {{0, 1}}), extents, 132) == 8);
  CHECK(choose_grid(in_clusters(2, {{0, 7}}), extents, 132) == 2);
  CHECK(choose_grid(in_clusters(2, {{0, 1}}), extents, 7) == 6);
  CHECK(choose_grid(in_clusters(2, {{1, 1}}), extents, 132) == 132);
  // At least one; GpuWorld::grid_limit refuses a smaller limit.
  CHECK(choose_grid(in_clusters(4), extents, 3) == 4);
  Artifact bounded = in_clusters(2);
  bounded.launch.max_grid = 9;
  CHECK(choose_grid(bounded, extents, 132) == 8);
}

TEST_CASE("a grid of whole clusters is asked for where there are clusters") {
  Artifact artifact = in_clusters(4);
  CHECK_NOTHROW(check_grid(artifact, 100000, 264));
  CHECK_THROWS_WITH(check_grid(artifact, 10, 264),
                    "kernel `k`: a grid of 10, and its program instances run in clusters of 4: use "
                    "tw.auto or a multiple of 4, like 8 or 12");
  CHECK_THROWS_WITH(check_grid(artifact, 3, 264),
                    "kernel `k`: a grid of 3, and its program instances run in clusters of 4: use "
                    "tw.auto or a multiple of 4, like 4");
  CHECK_NOTHROW(check_grid(artifact, 1000, 264));
  artifact.resources.waits = true;
  CHECK_THROWS_WITH(check_grid(artifact, 263, 263),
                    "kernel `k`: a grid of 263, and its program instances run in clusters of 4: "
                    "use tw.auto or a multiple of 4, like 260");
  CHECK_THROWS_WITH(check_grid(artifact, 264, 263),
                    "kernel `k`: a grid of 264 can't be resident at once, and its program "
                    "instances wait for others: the largest that fits this GPU is 260; use tw.auto "
                    "or a grid of at most 260");
}

TEST_CASE("a limit is rounded down to whole clusters, of which one must fit") {
  const Artifact artifact = in_clusters(4);
  CHECK(whole_clusters(artifact, 132) == 132);
  CHECK(whole_clusters(artifact, 131) == 128);
  CHECK(whole_clusters(in_clusters(1), 131) == 131);
  CHECK_NOTHROW(require_one_cluster(artifact, 4));
  CHECK_NOTHROW(require_one_cluster(in_clusters(1), 0));
  CHECK_THROWS_WITH(require_one_cluster(artifact, 3),
                    "kernel `k`: its program instances run in clusters of 4, and a launch may have "
                    "3 here: give its lane more multiprocessors, or a virtual world fewer ranks");
}

}  // namespace tilewire
