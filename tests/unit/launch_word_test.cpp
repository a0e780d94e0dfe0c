#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "templates/tilewire/object_layout.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

/// The launches of one rank: each instance reads the word at a random time before it leaves.
class Launches {
 public:
  explicit Launches(std::int64_t ended) : word_(word_after(ended)) {}

  /// What the instances of one launch took its number to be.
  std::vector<std::int64_t> run(std::uint64_t num_instances, std::mt19937_64& random) {
    std::vector<std::int64_t> seen(num_instances, -1);
    std::vector<std::uint64_t> steps;  // an instance's first turn reads, its second one leaves
    for (std::uint64_t i = 0; i < num_instances; ++i) steps.insert(steps.end(), 2, i);
    std::shuffle(steps.begin(), steps.end(), random);
    for (const std::uint64_t instance : steps) {
      if (seen[instance] < 0) {
        seen[instance] = launch_of(word_);
      } else {
        word_ += leaving(instance, num_instances);
      }
    }
    return seen;
  }

 private:
  std::uint64_t word_;
};

}  // namespace

TEST_CASE("every instance of a launch reads the same number, whoever has left") {
  std::mt19937_64 random(7);
  for (const std::int64_t start : {std::int64_t{0}, (std::int64_t{1} << 32) - 20,
                                   (std::int64_t{1} << 40) - 3, (std::int64_t{1} << 46)}) {
    Launches launches(start);
    for (std::int64_t launch = start + 1; launch <= start + 200; ++launch) {
      const auto num_instances = 1 + random() % 9;
      CHECK(launches.run(num_instances, random) ==
            std::vector<std::int64_t>(num_instances, launch));
    }
  }
}

TEST_CASE("as many instances as a launch may have") {
  std::mt19937_64 random(3);
  Launches launches(5);
  for (std::int64_t launch = 6; launch < 9; ++launch) {
    CHECK(launches.run(kMaxLeavers, random) == std::vector<std::int64_t>(kMaxLeavers, launch));
  }
}

TEST_CASE("launches in a row use different words of a flag") {
  for (const std::int64_t start : {std::int64_t{1}, (std::int64_t{1} << 32) - 4}) {
    for (std::int64_t launch = start; launch < start + 8; ++launch) {
      // Those of peers that are behind or ahead, this one, and the one that is cleared.
      std::vector<std::uint32_t> turns;
      for (int i = -1; i <= 2; ++i) turns.push_back(flag_turn(launch + i));
      std::sort(turns.begin(), turns.end());
      CHECK(std::unique(turns.begin(), turns.end()) == turns.end());
    }
  }
}

TEST_CASE("parts of an object don't overlap, and copies take turns") {
  for (const int world_size : {1, 2, 8, 72}) {
    CHECK(started_offset(0) >= sizeof(LaunchState));
    CHECK(launch_state_bytes(world_size) >=
          started_offset(static_cast<std::uint64_t>(world_size - 1)) + sizeof(std::int64_t));
    CHECK(launch_state_bytes(world_size) % kPartAlignment == 0);
    CHECK(flag_bytes(world_size, 3) == flag_offset(world_size, 2) + sizeof(FlagElement));
    CHECK(rotating_offset(world_size, 100, 1) - rotating_offset(world_size, 100, 0) == 128);
    CHECK(rotating_bytes(world_size, 100, 3) == rotating_offset(world_size, 100, 3));
  }
}

}  // namespace tilewire::device
