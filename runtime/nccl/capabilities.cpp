#include "runtime/nccl/capabilities.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr int kMultimemCapability = 90;
// What NCCL must be asked for, in the order in which it is given up.
constexpr std::array<Feature, 2> kAsked = {Feature::kMultimem, Feature::kNetwork};
// ncclGinType_t: the back ends that the full form of NCCL's headers compiles. Amazon's, 5, isn't
// one: docs/compiling.md.
constexpr std::array<int, 3> kGinTypes = {2, 3, 4};
constexpr int kGinTypeNone = 0;

/// NCCL's variable that turns the feature off.
std::string_view variable_of(Feature feature) {
  return feature == Feature::kMultimem ? "NCCL_NVLS_ENABLE" : "NCCL_GIN_ENABLE";
}

std::string not_needed(Feature feature) {
  return feature == Feature::kNetwork ? "not needed: loads and stores reach all ranks"
                                      : "not needed: no other rank is in reach";
}

std::string nothing_given(Feature feature) {
  return feature == Feature::kNetwork
             ? "ncclDevCommCreate gave no context: NCCL_DEBUG=INFO says why"
             : "ncclDevCommCreate gave no multicast address: NCCL_DEBUG=INFO says why";
}

std::string in_words(Feature feature, const Answer& answer, int nccl_version) {
  const auto nccl = [&] { return NcclVersion::from_code(nccl_version).to_string(); };
  switch (answer.ground) {
    case Ground::kHas:
      return {};
    case Ground::kTakenForGranted:
      return fmt::format("taken for granted: rank {}'s GPU isn't visible to this process",
                         answer.detail);
    case Ground::kNotNeeded:
      return not_needed(feature);
    case Ground::kSwitchedOff:
      return fmt::format("off: {}=0", variable_of(feature));
    case Ground::kOldGpu:
      return fmt::format("an sm_{} has none: it came with sm_{}", answer.detail,
                         kMultimemCapability);
    case Ground::kNoMulticast:
      return "the driver reports none: it needs an NVSwitch and its fabric manager";
    case Ground::kNoNativeAtomics:
      return fmt::format("none at rank {}'s GPU, which is reached over PCIe", answer.detail);
    case Ground::kNcclSaysNo:
      return fmt::format("NCCL {} finds none (ncclCommQueryProperties): NCCL_DEBUG=INFO says why",
                         nccl());
    case Ground::kOtherBackEnd:
      return fmt::format("NCCL {} would use its back end number {}, which tilewire doesn't compile",
                         nccl(), answer.detail);
    case Ground::kRefused:
      return fmt::format("ncclDevCommCreate returned {} (NCCL {}): NCCL_DEBUG=INFO says why",
                         answer.detail, nccl());
    case Ground::kNothingGiven:
      return nothing_given(feature);
    case Ground::kNoCapture:
      return fmt::format("capturing a stream failed with the driver's code {}", answer.detail);
    case Ground::kOneGpu:
      return "virtual ranks share one GPU";
    case Ground::kOtherRank:
      return fmt::format("not asked for: rank {} has none", answer.detail);
  }
  throw InternalError("a ground without words");
}

}  // namespace

std::string_view feature_name(Feature feature) {
  switch (feature) {
    case Feature::kAtomics:
      return "native atomics";
    case Feature::kMultimem:
      return "multimem";
    case Feature::kNetwork:
      return "network (GIN)";
    case Feature::kGraphs:
      return "CUDA graphs";
  }
  throw InternalError("a feature without a name");
}

std::string_view used_for(Feature feature) {
  switch (feature) {
    case Feature::kAtomics:
      return "tw.signal, tw.set, tw.add and tw.atomic_* where peers do so too";
    case Feature::kMultimem:
      return "x.multicast(), reductions in the switch where their order is free";
    case Feature::kNetwork:
      return "tw.put, tw.send, tw.signal and barriers beyond the LSA team";
    case Feature::kGraphs:
      return "capturing launches";
  }
  throw InternalError("a feature without a use");
}

Answer judge(const MultimemFacts& facts) {
  if (facts.lsa_size < 2) return {Ground::kNotNeeded};
  // Before anything that might touch multicast: the user has said no.
  if (facts.switched == "0") return {Ground::kSwitchedOff};
  if (facts.compute_capability < kMultimemCapability) {
    return {Ground::kOldGpu, facts.compute_capability};
  }
  if (!facts.driver_multicast) return {Ground::kNoMulticast};
  if (!facts.nccl_supports.value_or(true)) return {Ground::kNcclSaysNo};
  return {};
}

Answer judge(const NetworkFacts& facts) {
  if (facts.all_reached) return {Ground::kNotNeeded};
  if (facts.switched == "0") return {Ground::kSwitchedOff};
  if (!facts.gin_type) return {};
  if (*facts.gin_type == kGinTypeNone) return {Ground::kNcclSaysNo};
  if (std::ranges::count(kGinTypes, *facts.gin_type) == 0) {
    return {Ground::kOtherBackEnd, *facts.gin_type};
  }
  return {};
}

Answer judge(std::span<const PeerAtomics> peers) {
  if (peers.empty()) return {Ground::kNotNeeded};
  for (const PeerAtomics& peer : peers) {
    if (!peer.native.value_or(true)) return {Ground::kNoNativeAtomics, peer.rank};
  }
  for (const PeerAtomics& peer : peers) {
    if (!peer.native) return {Ground::kTakenForGranted, peer.rank};
  }
  return {};
}

void follow_others(RankCapabilities& own, std::span<const RankCapabilities> of_rank) {
  for (const Feature feature : kAsked) {
    const auto without = std::ranges::find_if(
        of_rank, [&](const RankCapabilities& rank) { return !rank[feature].has(); });
    if (!own[feature].has() || without == of_rank.end()) continue;
    own[feature] = {Ground::kOtherRank, static_cast<std::int32_t>(without - of_rank.begin())};
  }
}

bool give_up_one(RankCapabilities& own, int rank, std::span<const int> results) {
  for (const Feature feature : kAsked) {
    if (!own[feature].has()) continue;
    const int result = results[static_cast<std::size_t>(rank)];
    const auto failed = std::ranges::find_if(results, [](int each) { return each != 0; });
    own[feature] = result != 0 ? Answer{Ground::kRefused, result}
                               : Answer{Ground::kOtherRank,
                                        static_cast<std::int32_t>(failed - results.begin())};
    return true;
  }
  return false;
}

void check_given(RankCapabilities& own, std::uint64_t multicast_address) {
  if (own[Feature::kMultimem].has() && multicast_address == 0) {
    own[Feature::kMultimem] = {Ground::kNothingGiven};
  }
  if (own[Feature::kNetwork].has() && own.num_gin_contexts == 0) {
    own[Feature::kNetwork] = {Ground::kNothingGiven};
  }
}

bool Capabilities::has(Feature feature) const {
  return !of_rank_.empty() && std::ranges::all_of(of_rank_, [&](const RankCapabilities& rank) {
    return rank[feature].has();
  });
}

bool Capabilities::lacks(Feature feature) const {
  return std::ranges::any_of(of_rank_, [&](const RankCapabilities& rank) {
    return !rank[feature].has() && rank[feature].ground != Ground::kNotNeeded;
  });
}

std::string Capabilities::reason(int rank, Feature feature) const {
  const RankCapabilities& found = of_rank_.at(static_cast<std::size_t>(rank));
  return in_words(feature, found[feature], found.nccl_version);
}

std::string Capabilities::why_not(Feature feature) const {
  if (of_rank_.empty() || has(feature)) return {};
  // A rank that only followed another one is not the cause.
  const auto is_cause = [&](const RankCapabilities& rank) {
    return !rank[feature].has() && rank[feature].ground != Ground::kOtherRank;
  };
  const auto cause = std::ranges::find_if(of_rank_, is_cause);
  const auto rank = static_cast<int>(cause - of_rank_.begin());
  if (cause == of_rank_.end()) return reason(0, feature);
  const bool all_say_so = std::ranges::all_of(
      of_rank_, [&](const RankCapabilities& each) { return each[feature] == (*cause)[feature]; });
  const std::string words = reason(rank, feature);
  return all_say_so ? words : fmt::format("rank {}: {}", rank, words);
}

std::string Capabilities::notice() const {
  std::vector<std::string> lines;
  for (const Feature feature : kAsked) {
    const bool in_vain = std::ranges::any_of(of_rank_, [&](const RankCapabilities& rank) {
      return rank[feature].ground == Ground::kRefused ||
             rank[feature].ground == Ground::kNothingGiven;
    });
    if (in_vain) {
      lines.push_back(
          fmt::format("all ranks do without {}: {}", feature_name(feature), why_not(feature)));
    }
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

int Capabilities::num_gin_contexts() const {
  if (!has(Feature::kNetwork)) return 0;
  return std::ranges::min_element(of_rank_, {}, &RankCapabilities::num_gin_contexts)
      ->num_gin_contexts;
}

bool meets_others(const Artifact& artifact) {
  return std::ranges::any_of(artifact.arguments, [](const ArgumentSlot& slot) {
    return slot.kind == ArgumentSlot::Kind::kWindow ||
           slot.kind == ArgumentSlot::Kind::kDeviceComm || slot.kind == ArgumentSlot::Kind::kLane;
  });
}

void require_served(const Artifact& artifact, const Target& target,
                    const Capabilities& capabilities) {
  if (!meets_others(artifact)) return;
  const Target& wanted = artifact.target;
  const auto fail = [&](const std::string& why) {
    throw UserError(fmt::format(
        "kernel `{}` was compiled for `{}`, but this communicator is `{}`: {}. Compile it for the "
        "communicator's target",
        artifact.kernel, wanted.to_string(), target.to_string(), why));
  };
  if (wanted.multimem && !target.multimem) {
    fail(fmt::format("it has no multimem ({})", capabilities.why_not(Feature::kMultimem)));
  }
  if (wanted.gin && !target.gin) {
    fail(fmt::format("it has no GIN ({})", capabilities.why_not(Feature::kNetwork)));
  }
  if (wanted.gin && wanted.has_virtual_gin != target.has_virtual_gin) {
    fail(target.has_virtual_gin ? "the network between virtual ranks isn't NCCL's"
                                : "NCCL's network isn't that between virtual ranks");
  }
  if (wanted.world_size != target.world_size || wanted.lsa_size != target.lsa_size) {
    fail("its ranks are others");
  }
  if (artifact.resources.peer_atomics && capabilities.lacks(Feature::kAtomics)) {
    throw UserError(fmt::format(
        "kernel `{}` adds to memory that several GPUs change ({}), and these GPUs lack native "
        "atomics there: {}. Stores, barriers and channels work without",
        artifact.kernel, used_for(Feature::kAtomics), capabilities.why_not(Feature::kAtomics)));
  }
}

}  // namespace tilewire
