#include "runtime/nccl/capabilities.h"

#include <string>
#include <vector>

#include "runtime/nccl/host_exchange.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

constexpr MultimemFacts kSwitch = {.compute_capability = 90,
                                   .lsa_size = 8,
                                   .switched = "",
                                   .driver_multicast = true,
                                   .nccl_supports = true};

/// A world of two teams of two, each rank with everything.
std::vector<RankCapabilities> two_teams() {
  std::vector<RankCapabilities> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    ranks[rank].first_of_team = rank / 2 * 2;
    ranks[rank].lsa_size = 2;
    ranks[rank].num_gin_contexts = 4;
    ranks[rank].nccl_version = 23007;
  }
  return ranks;
}

/// What the ranks find, and what each then asks NCCL for.
std::vector<RankCapabilities> followed(const std::vector<RankCapabilities>& alone) {
  std::vector<RankCapabilities> ranks = alone;
  for (RankCapabilities& rank : ranks) follow_others(rank, alone);
  return ranks;
}

}  // namespace

TEST_CASE("multimem is asked for only where nothing speaks against it", "[capabilities]") {
  CHECK(judge(kSwitch).has());
  MultimemFacts facts = kSwitch;
  facts.nccl_supports.reset();  // 2.28 can't be asked
  CHECK(judge(facts).has());
  facts = kSwitch;
  facts.lsa_size = 1;
  CHECK(judge(facts) == Answer{Ground::kNotNeeded});
  facts = kSwitch;
  facts.compute_capability = 80;
  CHECK(judge(facts) == Answer{Ground::kOldGpu, 80});
  facts = kSwitch;
  facts.driver_multicast = false;
  CHECK(judge(facts) == Answer{Ground::kNoMulticast});
  facts = kSwitch;
  facts.nccl_supports = false;
  CHECK(judge(facts) == Answer{Ground::kNcclSaysNo});
}

TEST_CASE("NCCL_NVLS_ENABLE=0 decides before anything else is asked", "[capabilities]") {
  MultimemFacts facts = kSwitch;
  facts.switched = "0";
  CHECK(judge(facts) == Answer{Ground::kSwitchedOff});
  facts.driver_multicast = false;
  facts.compute_capability = 80;
  CHECK(judge(facts) == Answer{Ground::kSwitchedOff});
  facts = kSwitch;
  facts.switched = "2";
  CHECK(judge(facts).has());
}

TEST_CASE("the network is asked for where ranks are out of reach", "[capabilities]") {
  CHECK(judge(NetworkFacts{.all_reached = true, .switched = "0", .gin_type = 0}) ==
        Answer{Ground::kNotNeeded});
  CHECK(judge(NetworkFacts{.all_reached = false, .switched = "", .gin_type = {}}).has());
  CHECK(judge(NetworkFacts{.all_reached = false, .switched = "0", .gin_type = 3}) ==
        Answer{Ground::kSwitchedOff});
  CHECK(judge(NetworkFacts{.all_reached = false, .switched = "1", .gin_type = 0}) ==
        Answer{Ground::kNcclSaysNo});
  for (const int compiled : {2, 3, 4}) {
    CHECK(judge(NetworkFacts{.all_reached = false, .switched = "", .gin_type = compiled}).has());
  }
  CHECK(judge(NetworkFacts{.all_reached = false, .switched = "", .gin_type = 5}) ==
        Answer{Ground::kOtherBackEnd, 5});
}

TEST_CASE("one GPU of the team without native atomics is enough", "[capabilities]") {
  using Peers = std::vector<PeerAtomics>;
  CHECK(judge(Peers{}) == Answer{Ground::kNotNeeded});
  CHECK(judge(Peers{{1, true}, {2, true}}) == Answer{});
  CHECK(judge(Peers{{1, std::nullopt}, {2, false}}) == Answer{Ground::kNoNativeAtomics, 2});
  CHECK(judge(Peers{{1, true}, {2, std::nullopt}}) == Answer{Ground::kTakenForGranted, 2});
  CHECK(judge(Peers{{2, std::nullopt}}).has());
}

TEST_CASE("a world has what each of its ranks has", "[capabilities]") {
  const Capabilities all(two_teams());
  for (const Feature feature :
       {Feature::kAtomics, Feature::kMultimem, Feature::kNetwork, Feature::kGraphs}) {
    CHECK(all.has(feature));
    CHECK(all.why_not(feature).empty());
  }
  CHECK(all.notice().empty());
  CHECK_FALSE(Capabilities().has(Feature::kMultimem));

  auto ranks = two_teams();
  ranks[2].num_gin_contexts = 3;  // NCCL takes the number for a hint
  CHECK(Capabilities(ranks).num_gin_contexts() == 3);
  ranks[1][Feature::kNetwork] = {Ground::kNothingGiven};
  CHECK(Capabilities(ranks).num_gin_contexts() == 0);
}

TEST_CASE("what one rank can't follow, none asks for", "[capabilities]") {
  auto alone = two_teams();
  alone[1][Feature::kMultimem] = {Ground::kSwitchedOff};
  alone[3][Feature::kNetwork] = {Ground::kOtherBackEnd, 5};
  const auto ranks = followed(alone);
  for (int rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    CHECK_FALSE(ranks[rank][Feature::kMultimem].has());
    CHECK_FALSE(ranks[rank][Feature::kNetwork].has());
  }
  const Capabilities world(ranks);
  CHECK(world.why_not(Feature::kMultimem) == "rank 1: off: NCCL_NVLS_ENABLE=0");
  CHECK(world.reason(0, Feature::kMultimem) == "not asked for: rank 1 has none");
  CHECK(world.why_not(Feature::kNetwork) ==
        "rank 3: NCCL 2.30.7 would use its back end number 5, which tilewire doesn't compile");
  CHECK(world.notice().empty());  // it was known beforehand
  CHECK(world.has(Feature::kAtomics));
}

TEST_CASE("a reason that all ranks have is told without a rank", "[capabilities]") {
  auto alone = two_teams();
  for (RankCapabilities& rank : alone) rank[Feature::kMultimem] = {Ground::kSwitchedOff};
  CHECK(Capabilities(followed(alone)).why_not(Feature::kMultimem) == "off: NCCL_NVLS_ENABLE=0");
}

TEST_CASE("where NCCL refuses a rank, all do without: multimem first, then the network",
          "[capabilities]") {
  auto ranks = two_teams();
  const auto refuse = [&](std::vector<int> results) {
    bool goes_on = false;
    for (int rank = 0; rank < 4; ++rank) goes_on = give_up_one(ranks[rank], rank, results);
    return goes_on;
  };
  CHECK(refuse({0, 0, 5, 0}));
  CHECK(ranks[2][Feature::kMultimem] == Answer{Ground::kRefused, 5});
  CHECK(ranks[0][Feature::kMultimem] == Answer{Ground::kOtherRank, 2});
  CHECK(Capabilities(ranks).has(Feature::kNetwork));
  CHECK(Capabilities(ranks).notice() ==
        "all ranks do without multimem: rank 2: ncclDevCommCreate returned 5 (NCCL 2.30.7): "
        "NCCL_DEBUG=INFO says why");
  CHECK(refuse({3, 3, 3, 3}));
  CHECK(Capabilities(ranks).why_not(Feature::kNetwork) ==
        "ncclDevCommCreate returned 3 (NCCL 2.30.7): NCCL_DEBUG=INFO says why");
  CHECK_FALSE(refuse({3, 3, 3, 3}));  // nothing was asked for: it is an error
}

TEST_CASE("what NCCL was asked for and didn't give is said once", "[capabilities]") {
  auto ranks = two_teams();
  ranks[1].num_gin_contexts = 0;
  check_given(ranks[0], 0x7000);
  check_given(ranks[1], 0);
  CHECK(ranks[0][Feature::kMultimem].has());
  const Capabilities world(ranks);
  CHECK(world.notice() ==
        "all ranks do without multimem: rank 1: ncclDevCommCreate gave no multicast address: "
        "NCCL_DEBUG=INFO says why; all ranks do without network (GIN): rank 1: ncclDevCommCreate "
        "gave no context: NCCL_DEBUG=INFO says why");
  // Nobody misses what wasn't asked for.
  RankCapabilities alone;
  alone[Feature::kMultimem] = {Ground::kNotNeeded};
  alone[Feature::kNetwork] = {Ground::kNotNeeded};
  check_given(alone, 0);
  CHECK(alone[Feature::kNetwork] == Answer{Ground::kNotNeeded});
  CHECK(alone[Feature::kMultimem] == Answer{Ground::kNotNeeded});
}

TEST_CASE("what a rank says of itself fits a message of the host", "[capabilities]") {
  STATIC_REQUIRE(sizeof(RankCapabilities) <= HostExchange::kMaxRecord);
  STATIC_REQUIRE(std::is_trivially_copyable_v<RankCapabilities>);
}

}  // namespace tilewire
