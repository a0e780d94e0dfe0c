// What goes over the network as contiguous puts (`templates/tilewire/network_layout.cuh`), on the
// host.

// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")

#include "tests/unit/cta_emulator.h"
// Behind what it needs of CUDA.
#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "templates/tilewire/network_layout.cuh"
#include "templates/tilewire/tile_pieces.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

template <int kWorld, int kLsa>
void check_far_ranks() {
  using Far = FarRanks<kWorld, kLsa>;
  for (int rank = 0; rank < kWorld; ++rank) {
    std::set<int> world;
    std::set<int> rail;
    for (int i = 0; i < Far::count(NetworkTeam::kWorld); ++i) {
      world.insert(Far::at(i, rank, NetworkTeam::kWorld));
    }
    for (int i = 0; i < Far::count(NetworkTeam::kRail); ++i) {
      rail.insert(Far::at(i, rank, NetworkTeam::kRail));
    }
    for (int other = 0; other < kWorld; ++other) {
      const bool is_far = rank / kLsa != other / kLsa;
      REQUIRE(Far::is_far(rank, other) == is_far);
      REQUIRE(world.contains(other) == is_far);
      REQUIRE(rail.contains(other) == (is_far && rank % kLsa == other % kLsa));
    }
    REQUIRE(world.size() == static_cast<std::size_t>(Far::count(NetworkTeam::kWorld)));
    REQUIRE(rail.size() == static_cast<std::size_t>(Far::count(NetworkTeam::kRail)));
  }
}

TEST_CASE("far ranks are those of other LSA teams, each once") {
  check_far_ranks<8, 4>();
  check_far_ranks<9, 3>();
  check_far_ranks<128, 8>();
  check_far_ranks<4, 1>();
}

TEST_CASE("instances' shares of staging memory don't overlap, and hold what the grid was cut for") {
  constexpr uint64_t kBytes = 32 << 20;
  for (const uint64_t need : {1ull, 128ull, 129ull, 8192ull, 3ull << 20, 32ull << 20}) {
    const uint64_t limit = kBytes / staged_bytes(need);
    for (const uint64_t grid : {uint64_t{1}, uint64_t{7}, uint64_t{132}, limit}) {
      if (grid == 0 || grid > limit) continue;
      uint64_t end = 1024;
      for (uint64_t i = 0; i < grid; ++i) {
        StagingRing ring = StagingRing::of(1024, kBytes, i, grid);
        REQUIRE(ring.begin >= end);
        REQUIRE(ring.end <= 1024 + kBytes);
        end = ring.end;
        REQUIRE(ring.has_room(need));
        uint64_t at = ring.begin;
        while (ring.has_room(need)) {
          const uint64_t place = ring.take(need);
          REQUIRE(place == at);
          at = place + staged_bytes(need);
          REQUIRE(at <= ring.end);
          if (at > ring.begin + (1 << 20)) break;
        }
        ring.restart();
        REQUIRE(ring.take(need) == ring.begin);
      }
    }
  }
}

/// Element by element, which bytes move where; each once.
template <int kRank>
void check_runs(const CopyDim (&dims)[kRank], int element, int64_t expected_runs) {
  const auto runs = PutRuns<kRank>::of(dims, element);
  std::vector<std::pair<int64_t, int64_t>> wanted = {{0, 0}};
  for (const CopyDim& dim : dims) {
    std::vector<std::pair<int64_t, int64_t>> next;
    for (const auto& [to, from] : wanted) {
      for (int64_t i = 0; i < dim.extent; ++i) {
        next.emplace_back(to + i * dim.to_stride * element, from + i * dim.from_stride * element);
      }
    }
    wanted = next;
  }
  std::vector<std::pair<int64_t, int64_t>> found;
  for (int64_t i = 0; i < runs.count; ++i) {
    int64_t to = 0;
    int64_t from = 0;
    runs.offsets(i, to, from);
    REQUIRE(runs.bytes % element == 0);
    for (int64_t byte = 0; byte < runs.bytes; byte += element) {
      found.emplace_back(to + byte, from + byte);
    }
  }
  std::ranges::sort(wanted);
  std::ranges::sort(found);
  CHECK(found == wanted);
  CHECK(runs.count == expected_runs);
}

TEST_CASE("a copy of views is as many puts as it has runs without gaps on both sides") {
  check_runs<1>({{100, 1, 1}}, 4, 1);
  check_runs<1>({{100, 2, 1}}, 4, 100);
  check_runs<1>({{100, 3, 3}}, 1, 100);
  check_runs<2>({{4, 128, 128}, {128, 1, 1}}, 2, 1);
  check_runs<2>({{4, 128, 130}, {128, 1, 1}}, 2, 4);
  check_runs<2>({{4, 128, 128}, {64, 1, 1}}, 8, 4);
  check_runs<3>({{3, 60, 60}, {5, 12, 12}, {12, 1, 1}}, 4, 1);
  check_runs<3>({{3, 100, 60}, {5, 12, 12}, {12, 1, 1}}, 4, 3);
  check_runs<3>({{3, 60, 61}, {5, 12, 13}, {12, 1, 1}}, 4, 15);
  check_runs<4>({{2, 120, 240}, {3, 40, 80}, {5, 8, 16}, {4, 2, 2}}, 2, 120);
  check_runs<2>({{1, 7, 9}, {6, 1, 1}}, 4, 1);
  check_runs<2>({{6, 1, 1}, {1, 7, 9}}, 4, 1);
  check_runs<2>({{0, 128, 128}, {64, 1, 1}}, 4, 0);
  check_runs<2>({{-3, 128, 128}, {64, 1, 1}}, 4, 0);
}

/// Compares the pieces of a tile with its elements one by one.
template <typename A>
void check_pieces(const A& access, int expected_pieces) {
  constexpr int kRank = A::kRank;
  const TilePieces<A> pieces(access);
  CHECK(pieces.count() == expected_pieces);
  std::vector<int> covered(A::kElements, 0);
  for (int i = 0; i < pieces.count(); ++i) {
    const Run run = pieces.at(i);
    for (int64_t j = run.first; j < run.last; ++j) {
      const int64_t index = int64_t{i} * pieces.elements + j;
      REQUIRE(index >= 0);
      REQUIRE(index < A::kElements);
      const Run one = access.run(static_cast<unsigned>(index), 1, true);
      REQUIRE(one.first <= 0);
      REQUIRE(one.last > 0);
      REQUIRE(run.offset + j == one.offset);
      ++covered[static_cast<std::size_t>(index)];
    }
  }
  for (int index = 0; index < A::kElements; ++index) {
    const Run one = access.run(static_cast<unsigned>(index), 1, true);
    REQUIRE(covered[static_cast<std::size_t>(index)] == (one.first <= 0 && one.last > 0 ? 1 : 0));
  }
  static_assert(kRank > 0);
}

TEST_CASE("a tile is put in pieces that lie side by side at both places, clipped where it is cut") {
  float* const place = nullptr;
  check_pieces(access(place, dim<512>(1)), 1);
  check_pieces(access(place, dim<4>(128), dim<128>(1)), 1);
  check_pieces(access(place, dim<4>(200), dim<128>(1)), 4);
  check_pieces(access(place, dim<4>(1), dim<128>(4)), 512);
  check_pieces(access(place, dim<8>(100), dim<1>(7)), 8);
  check_pieces(access(place, dim<8>(1), dim<1>(7)), 1);
  check_pieces(access(place, dim<2>(64), dim<4>(16), dim<16>(1)), 1);
  check_pieces(access(place, dim<2>(100), dim<4>(16), dim<16>(1)), 2);
  check_pieces(access_if(false, place, dim<4>(128), dim<128>(1)), 1);
  for (int64_t begin = -6; begin <= 6; ++begin) {
    for (int64_t bound = 0; bound <= 9; ++bound) {
      const bool is_cut = begin < 0 || begin + 4 > bound;
      CAPTURE(begin, bound);
      // Rows are cut: what is left of them is one piece.
      check_pieces(access(place, masked_dim<4>(16, begin, bound), dim<16>(1)), 1);
      check_pieces(access(place, masked_dim<4>(20, begin, bound), dim<16>(1)), 4);
      check_pieces(access(place, dim<3>(4), masked_dim<4>(1, begin, bound)), is_cut ? 3 : 1);
      check_pieces(access(place, dim<2>(64), masked_dim<4>(16, begin, bound), dim<16>(1)),
                   is_cut ? 2 : 1);
      check_pieces(access(place, masked_dim<4>(4, begin, bound), masked_dim<4>(1, begin, bound)),
                   is_cut ? 4 : 1);
      check_pieces(access(place, masked_dim<1>(5, begin, bound), dim<16>(1)), 1);
    }
  }
}

TEST_CASE("elements that are neighbours at both places are put together") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> offsets;
    int64_t at = 1000;
    while (offsets.size() < 64) {
      const auto what = random() % 8;
      if (what == 0) at += static_cast<int64_t>(random() % 100) - 50;
      offsets.push_back(what == 1 ? kNotPut : at++);
    }
    const int end = static_cast<int>(1 + random() % 64);
    int num_runs = 0;
    int num_breaks = 1;
    for (int i = 1; i < end; ++i) {
      const bool are_both_out = offsets[i - 1] == kNotPut && offsets[i] == kNotPut;
      const bool is_next = offsets[i - 1] != kNotPut && offsets[i] == offsets[i - 1] + 1;
      num_breaks += are_both_out || is_next ? 0 : 1;
    }
    for (int first = 0; first < end; ++num_runs) {
      const int last = end_of_run(offsets.data(), first, end);
      REQUIRE(last > first);
      REQUIRE(last <= end);
      for (int i = first; i < last; ++i) {
        REQUIRE(offsets[i] == (offsets[first] == kNotPut ? kNotPut : offsets[first] + i - first));
      }
      first = last;
    }
    CHECK(num_runs == num_breaks);
  }
}

}  // namespace
}  // namespace tilewire::device
