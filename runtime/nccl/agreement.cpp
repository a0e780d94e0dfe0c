#include "runtime/nccl/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/jit/nccl_headers.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

template <typename Value>
void require_same(std::string_view what, std::size_t rank, const Value& of_rank_0,
                  const Value& of_rank) {
  if (of_rank_0 == of_rank) return;
  throw UserError(
      fmt::format("ranks 0 and {} can't run one kernel together: {} is {} on rank 0 and {} on rank "
                  "{}; all ranks of a communicator need the same",
                  rank, what, of_rank_0, of_rank, rank));
}

void require_same_agreement(std::string_view what, std::span<const RankValue> value_of_rank) {
  for (std::size_t rank = 1; rank < value_of_rank.size(); ++rank) {
    if (value_of_rank[rank].agreement == value_of_rank[0].agreement) continue;
    throw UserError(fmt::format(
        "{}: rank 0 and rank {} don't do the same (agreement {:016x} and {:016x}): all ranks must "
        "make the same collective calls and launch the same kernels, with the same constants, "
        "dtypes and grids, in one order",
        what, rank, value_of_rank[0].agreement, value_of_rank[rank].agreement));
  }
}

}  // namespace

void require_alike(std::span<const RankFacts> facts_of_rank) {
  const RankFacts& first = facts_of_rank[0];
  for (std::size_t rank = 1; rank < facts_of_rank.size(); ++rank) {
    const RankFacts& facts = facts_of_rank[rank];
    require_same("tilewire's version", rank, std::string(first.tilewire_version),
                 std::string(facts.tilewire_version));
    require_same("NCCL's version", rank, NcclVersion::from_code(first.nccl_version).to_string(),
                 NcclVersion::from_code(facts.nccl_version).to_string());
    require_same("the GPU", rank, std::string(first.device_name), std::string(facts.device_name));
    require_same("the compute capability", rank, first.compute_capability,
                 facts.compute_capability);
    require_same("the number of multiprocessors", rank, first.num_sms, facts.num_sms);
    require_same("the number of CTAs a multiprocessor holds", rank, first.max_ctas_per_sm,
                 facts.max_ctas_per_sm);
    require_same("the number of ranks whose memory it reaches (LSA team)", rank, first.lsa_size,
                 facts.lsa_size);
    require_same("TILEWIRE_GIN_CONTEXTS", rank, first.gin_contexts, facts.gin_contexts);
    require_same("TILEWIRE_GIN_SIGNALS", rank, first.gin_signals, facts.gin_signals);
  }
}

void require_same_call(std::string_view of_rank_0, int rank, std::string_view of_rank) {
  if (of_rank_0 == of_rank) return;
  throw UserError(
      fmt::format("ranks meet at different calls: rank 0 is in {}, rank {} in {}; all ranks of a "
                  "communicator must make the same collective calls, with the same arguments, in "
                  "one order",
                  of_rank_0, rank, of_rank));
}

void require_equal(std::string_view what, std::span<const RankValue> value_of_rank) {
  require_same_agreement(what, value_of_rank);
  for (std::size_t rank = 1; rank < value_of_rank.size(); ++rank) {
    if (value_of_rank[rank].value == value_of_rank[0].value) continue;
    throw UserError(
        fmt::format("{} must be the same on all ranks: it is {} on rank 0 and {} on "
                    "rank {}",
                    what, value_of_rank[0].value, value_of_rank[rank].value, rank));
  }
}

std::int64_t minimum_of(std::string_view what, std::span<const RankValue> value_of_rank) {
  require_same_agreement(what, value_of_rank);
  std::int64_t least = value_of_rank[0].value;
  for (const RankValue& value : value_of_rank) least = std::min(least, value.value);
  return least;
}

}  // namespace tilewire
