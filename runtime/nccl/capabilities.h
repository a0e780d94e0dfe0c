#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/jit/artifact.h"
#include "compiler/jit/nccl_headers.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// What a rank may have or lack, besides the LSA team that it is in.
enum class Feature : std::uint8_t {
  kAtomics,   ///< native atomics at the GPUs of the team
  kMultimem,  ///< addresses that reach all ranks of the team at once, and reduce in the switch
  kNetwork,   ///< GIN: ranks beyond the team
  kGraphs,    ///< launches can be captured into CUDA graphs
};
inline constexpr std::size_t kNumFeatures = 4;

/// `native atomics`, for tables and messages.
std::string_view feature_name(Feature feature);
/// What is written for programs with it: `x.multicast(), all_reduce_load(order="any")`.
std::string_view used_for(Feature feature);

/// Why a rank has a feature or lacks it.
enum class Ground : std::int32_t {
  kHas = 0,
  kTakenForGranted,  ///< has it, but couldn't ask: `detail` is a rank whose GPU isn't visible
  // What follows are grounds to lack it.
  kNotNeeded,        ///< no peer that it would reach
  kSwitchedOff,      ///< by NCCL_NVLS_ENABLE or NCCL_GIN_ENABLE
  kOldGpu,           ///< `detail`: compute capability
  kNoMulticast,      ///< the driver says so
  kNoNativeAtomics,  ///< `detail`: the rank at whose memory
  kNcclSaysNo,       ///< ncclCommQueryProperties
  kOtherBackEnd,     ///< `detail`: NCCL's number of the one in use
  kRefused,          ///< `detail`: what ncclDevCommCreate returned
  kNothingGiven,     ///< ncclDevCommCreate succeeded and gave none
  kNoCapture,        ///< `detail`: what the driver returned
  kOneGpu,           ///< virtual ranks share a GPU
  kOtherRank,        ///< it has, but another rank of the world hasn't: so nobody asked
};

struct Answer {
  Ground ground = Ground::kHas;
  std::int32_t detail = 0;
  bool has() const { return ground <= Ground::kTakenForGranted; }
  bool operator==(const Answer&) const = default;
};

/// What one rank found. Plain bytes: it travels as such.
struct RankCapabilities {
  std::array<Answer, kNumFeatures> answers;
  std::int32_t first_of_team = 0;  ///< the LSA team's ranks are this one and the next ones
  std::int32_t lsa_size = 1;
  std::int32_t num_gin_contexts = 0;
  std::int32_t nccl_version = 0;  ///< `NcclVersion::to_code`
  char device_name[64] = {};
  char bus_id[16] = {};  ///< of its GPU, as the driver has it
  char host[48] = {};
  std::uint64_t machine = 0;  ///< the same for all containers of one machine

  Answer& operator[](Feature feature) { return answers[static_cast<std::size_t>(feature)]; }
  const Answer& operator[](Feature feature) const {
    return answers[static_cast<std::size_t>(feature)];
  }
};

/// What is known of multimem before NCCL is asked to make it.
struct MultimemFacts {
  int compute_capability = 0;
  int lsa_size = 1;
  std::string switched;               ///< NCCL_NVLS_ENABLE; empty where it isn't set
  bool driver_multicast = false;      ///< CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED
  std::optional<bool> nccl_supports;  ///< `multimemSupport`, where NCCL's version has it
};
Answer judge(const MultimemFacts& facts);

/// What is known of the network before NCCL is asked to connect.
struct NetworkFacts {
  bool all_reached = true;      ///< by loads and stores
  std::string switched;         ///< NCCL_GIN_ENABLE
  std::optional<int> gin_type;  ///< `ginType`, where NCCL's version has it; 0 is none
};
Answer judge(const NetworkFacts& facts);

/// What a peer's GPU says to atomics from here; nothing where it isn't visible to this process.
struct PeerAtomics {
  int rank = 0;
  std::optional<bool> native;
};
Answer judge(std::span<const PeerAtomics> peers);

/// What one rank can't follow, none asks NCCL for: `own` lacks multimem or the network where a rank
/// of the world does.
void follow_others(RankCapabilities& own, std::span<const RankCapabilities> of_rank);

/// After ncclDevCommCreate has failed somewhere: the next thing to do without, multimem first, then
/// the network. `results`: what it returned on each rank. False where nothing was asked for.
bool give_up_one(RankCapabilities& own, int rank, std::span<const int> results);

/// After it has succeeded: `own` lacks what NCCL gave none of.
void check_given(RankCapabilities& own, std::uint64_t multicast_address);

/// What the ranks of a world found, and what follows: a world has what each of its ranks has.
class Capabilities {
 public:
  Capabilities() = default;
  explicit Capabilities(std::vector<RankCapabilities> of_rank) : of_rank_(std::move(of_rank)) {}

  const std::vector<RankCapabilities>& of_rank() const { return of_rank_; }
  bool has(Feature feature) const;
  /// Whether a rank that would need it hasn't got it.
  bool lacks(Feature feature) const;
  /// Empty where the world has it; else whose answer decides: `rank 1: off: NCCL_NVLS_ENABLE=0`,
  /// without a rank where all say the same.
  std::string why_not(Feature feature) const;
  /// The rank's own answer in words; empty where it has it and knows.
  std::string reason(int rank, Feature feature) const;
  /// What should be said once, since nothing foretold it: which features NCCL was asked for in
  /// vain. Empty where there is nothing to say.
  std::string notice() const;
  /// The least number of contexts that NCCL gave a rank.
  int num_gin_contexts() const;

 private:
  std::vector<RankCapabilities> of_rank_;
};

/// Whether a kernel takes anything of a communicator's: its lane, windows, device communicator.
bool meets_others(const Artifact& artifact);

/// UserError where an artifact that meets other ranks was compiled for another world than `target`,
/// or for multimem or the network where the world has none, or where it needs native atomics that
/// the GPUs lack: says why.
void require_served(const Artifact& artifact, const Target& target,
                    const Capabilities& capabilities);

}  // namespace tilewire
