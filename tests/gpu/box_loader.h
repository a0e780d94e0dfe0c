#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/driver/kernel.h"
#include "tests/gpu/gpu.h"

namespace tilewire::test {

/// What `BoxLoader` loads from, and how.
struct BoxCase {
  DType dtype = DType::kF16;
  std::vector<std::int64_t> shape = {};
  std::vector<std::int64_t> strides = {};  ///< elements; empty: contiguous, and so compiled
  std::vector<int> dimensions = {};        ///< as in TensorMapSpec, as the next two
  std::vector<std::int64_t> box = {};
  TensorMapSpec::Swizzle swizzle = TensorMapSpec::Swizzle::kNone;
  int lsa_size = 0;  ///< ranks of a window; 0: a tensor
};

using Bytes = std::vector<std::byte>;
using Coordinates = std::vector<std::int64_t>;  ///< in the order of `BoxCase::dimensions`

/// A kernel of one CTA that loads a box by TMA, through the tensor map that it takes, and copies it
/// to global memory as it lies in shared memory.
class BoxLoader {
 public:
  explicit BoxLoader(BoxCase what);

  /// Random elements, with other bytes in the gaps between rows.
  Bytes random_array(std::uint32_t seed) const;
  /// The box at these coordinates as TMA should load it: 0 where it is outside. `copies`: one per
  /// rank, or the tensor's.
  Bytes expected(const std::vector<Bytes>& copies, const Coordinates& coordinates) const;

  /// The kernel's arguments. `array`: of the tensor or window.
  std::vector<ArgumentValue> values(const ArgumentValue& array, cuda::DevicePointer out,
                                    const Coordinates& coordinates) const;
  const GpuKernel& kernel() const { return *kernel_; }
  std::size_t box_bytes() const;

  /// Launches for a tensor at this address, waits, and gives the box.
  Bytes load(cuda::DevicePointer array, const Coordinates& coordinates) const;

 private:
  std::shared_ptr<Artifact> artifact() const;
  std::string source() const;
  std::vector<std::int64_t> strides() const;

  BoxCase case_;
  std::unique_ptr<GpuKernel> kernel_;
};

}  // namespace tilewire::test
