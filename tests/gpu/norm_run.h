#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/nccl/world.h"
#include "tests/gpu/gpu.h"

namespace tilewire::test {

struct NormCase {
  DType dtype = DType::kBF16;
  std::int64_t rows = 64;
  std::int64_t columns = 8192;
};

/// The all-reduce and RMS norm of the first example, built with the Builder: its kernel, windows
/// and tensors for all ranks that this process drives, and a float64 reference.
class NormRun {
 public:
  NormRun(std::shared_ptr<GpuWorld> world, NormCase what);

  /// New random inputs on all ranks; outputs are poisoned with NaN.
  void fill(std::uint32_t seed);
  void poison_outputs();
  /// Launches on all ranks; 0: `tw.auto`'s grid.
  void launch(cuda::Stream stream, int grid = 0);

  /// The largest error of any element of any rank, in units of what rounding explains: at most 1
  /// where the result is right.
  double worst_error() const;

  GpuKernel& kernel() { return *kernel_; }
  int auto_grid() const;
  const std::vector<ArgumentValue>& values() const { return values_; }

 private:
  void pack_values();

  std::shared_ptr<GpuWorld> world_;
  NormCase case_;
  std::unique_ptr<GpuKernel> kernel_;
  std::shared_ptr<Window> input_;
  std::unique_ptr<DeviceMemory> gain_;
  std::vector<std::unique_ptr<DeviceMemory>> outputs_;  ///< one per local rank
  std::vector<ArgumentValue> values_;
  std::vector<double> expected_;
};

}  // namespace tilewire::test
