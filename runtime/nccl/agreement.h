#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewire {

/// What every rank says of itself when a communicator is made. Plain bytes: it travels as such.
struct RankFacts {
  char device_name[64];
  char tilewire_version[16];
  std::int32_t nccl_version;  ///< `NcclVersion::to_code`
  std::int32_t compute_capability;
  std::int32_t num_sms;
  std::int32_t max_ctas_per_sm;
  std::int32_t lsa_size;
  std::int32_t gin_contexts;  ///< as asked for
  std::int32_t gin_signals;
};

/// UserError naming two ranks, what differs between them and both values, where these ranks can't
/// run one kernel together.
void require_alike(std::span<const RankFacts> facts_of_rank);

/// UserError naming both where rank 0 and another rank are in different collective calls. A call is
/// told with its arguments, as the user wrote it.
void require_same_call(std::string_view of_rank_0, int rank, std::string_view of_rank);

/// A value of one rank, and what must be the same everywhere.
struct RankValue {
  std::uint64_t agreement;
  std::int64_t value;
};

/// UserError naming the two ranks and their values where one rank's value, or what it agrees to,
/// differs from rank 0's. `what`: `comm.window: the window's size in bytes`.
void require_equal(std::string_view what, std::span<const RankValue> value_of_rank);

/// The least value. UserError naming two ranks where their `agreement`s differ.
std::int64_t minimum_of(std::string_view what, std::span<const RankValue> value_of_rank);

}  // namespace tilewire
