#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/dtype.h"

namespace tilewire {

/// A tensor map that a kernel takes (`ArgumentSlot::Kind::kTensorMap`): how the TMA unit finds
/// boxes of a parameter. Extents are those of the launch, and so are strides: those of a contiguous
/// array, or the parameter's kStride arguments. Elements outside of the extents are loaded as 0.
struct TensorMapSpec {
  /// The dimension of the LSA team's ranks, in `dimensions`.
  static constexpr int kLsaRank = -1;
  /// How 16-byte chunks of a box lie in shared memory: in order, or swapped within so many bytes.
  enum class Swizzle : std::uint8_t { kNone, k32Bytes, k64Bytes, k128Bytes };

  int parameter = 0;  ///< index into `Artifact::parameters`: a tensor or a window
  DType dtype = DType::kF32;
  /// Every dimension of the parameter once, from the innermost outwards: the first has unit stride.
  /// kLsaRank comes last, where boxes of a window's peers are loaded too.
  std::vector<int> dimensions;
  std::vector<std::int64_t> box;  ///< elements, in the order of `dimensions`; 1 for kLsaRank
  Swizzle swizzle = Swizzle::kNone;
  bool rounds_to_tf32 = false;  ///< f32 loses its last 13 bits on the way, to nearest
  bool operator==(const TensorMapSpec&) const = default;
};

/// What TMA demands of arrays (PTX ISA, "Tensors"; cuTensorMapEncodeTiled in the driver's manual).
inline constexpr int kMaxMapRank = 5;
inline constexpr int kMapAlignment = 16;                  ///< of addresses and strides, in bytes
inline constexpr std::int64_t kMaxMapExtent = INT32_MAX;  ///< coordinates have 32 bits and a sign
inline constexpr std::int64_t kMapStrideLimit = std::int64_t{1} << 40;  ///< bytes
inline constexpr std::int64_t kMaxMapBox = 256;                         ///< elements per dimension

/// Whether a tensor map can describe an array, its last dimension innermost. Strides are in
/// elements; those of extents of 1 don't count. Anything describes an array without elements.
bool is_mappable(DType dtype, std::uint64_t address, std::span<const std::int64_t> extents,
                 std::span<const std::int64_t> strides);

}  // namespace tilewire
