#include "compiler/codegen/cuda/shared_memory.h"

#include <algorithm>

#include "compiler/ops/op.h"

namespace tilewire {
namespace {

/// Uses of at most this many bytes alternate between two places of their own.
constexpr int kSmallBytes = 1024;

}  // namespace

int shared_bytes_of(const Statement& statement, int num_threads) {
  if (statement.kind != StatementKind::kOp || statement.op->cuda_shared_bytes == nullptr) return 0;
  return statement.op->cuda_shared_bytes(statement, num_threads);
}

SharedPlaces place_shared_memory(const Program& lowered) {
  SharedPlaces result;
  int small_bytes = 0;
  int large_bytes = 0;
  int num_small = 0;
  for_each_statement(lowered.body, [&](const Statement& statement) {
    const int used = shared_bytes_of(statement, lowered.num_threads);
    if (used <= 0) return;
    const int num_bytes = (used + 15) / 16 * 16;
    if (num_bytes > kSmallBytes) {
      result.places[&statement] = 2;
      large_bytes = std::max(large_bytes, num_bytes);
    } else {
      result.places[&statement] = num_small++ % 2;
      small_bytes = std::max(small_bytes, num_bytes);
    }
  });
  const int large_offset = small_bytes * std::min(num_small, 2);
  for (const auto& [statement, place] : result.places) {
    result.offsets[statement] = place == 2 ? large_offset : place * small_bytes;
  }
  result.num_bytes = large_offset + large_bytes;
  return result;
}

}  // namespace tilewire
