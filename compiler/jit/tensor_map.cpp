#include "compiler/jit/tensor_map.h"

#include <algorithm>

namespace tilewire {

bool is_mappable(DType dtype, std::uint64_t address, std::span<const std::int64_t> extents,
                 std::span<const std::int64_t> strides) {
  if (extents.empty() || extents.size() > kMaxMapRank) return false;
  if (std::ranges::find(extents, 0) != extents.end()) return true;
  if (address % kMapAlignment != 0) return false;
  const std::int64_t bytes = num_bytes(dtype);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] > kMaxMapExtent) return false;
    if (extents[i] == 1) continue;
    if (i + 1 == extents.size()) return strides[i] == 1;
    if (strides[i] <= 0 || strides[i] >= kMapStrideLimit / bytes) return false;
    if (strides[i] * bytes % kMapAlignment != 0) return false;
  }
  return true;
}

}  // namespace tilewire
