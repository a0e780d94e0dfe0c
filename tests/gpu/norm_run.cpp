#include "tests/gpu/norm_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "compiler/jit/compile.h"
#include "tests/norm_program.h"

namespace tilewire::test {
namespace {

constexpr double kEpsilon = 1e-6;

/// The bits of `value` rounded to `dtype`, and what they stand for.
std::pair<std::uint32_t, double> round_to(DType dtype, double value) {
  const auto single = static_cast<float>(value);
  if (dtype == DType::kF32) return {std::bit_cast<std::uint32_t>(single), single};
  if (dtype == DType::kF16) {
    const auto half = static_cast<_Float16>(single);
    return {std::bit_cast<std::uint16_t>(half), static_cast<double>(half)};
  }
  const auto wide = std::bit_cast<std::uint32_t>(single);
  const std::uint32_t bits = (wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16;
  return {bits, std::bit_cast<float>(bits << 16)};
}

double value_of(DType dtype, const std::byte* bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<std::size_t>(num_bytes(dtype)));
  if (dtype == DType::kF32) return std::bit_cast<float>(bits);
  if (dtype == DType::kF16)
    return static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
  return std::bit_cast<float>(bits << 16);
}

/// Values between -2 and 2, without a pattern that rows or ranks share.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  double next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(state_ >> 40) / static_cast<double>(1 << 22) - 2.0;
  }

 private:
  std::uint64_t state_;
};

/// Fills with random values; adds them to `sum` where given.
std::vector<std::byte> random_bytes(DType dtype, std::int64_t count, std::uint64_t seed,
                                    std::vector<double>& values, bool add) {
  const auto size = static_cast<std::size_t>(num_bytes(dtype));
  std::vector<std::byte> bytes(size * static_cast<std::size_t>(count));
  Random random(seed);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto [bits, value] = round_to(dtype, random.next());
    std::memcpy(bytes.data() + i * size, &bits, size);
    values[i] = add ? values[i] + value : value;
  }
  return bytes;
}

/// Half a unit in the last place of the result's dtype, doubled for f32 sums that lie on the other
/// side of a midpoint; for f32 itself, a sum over a row.
double relative_bound(DType dtype) {
  switch (num_bytes(dtype)) {
    case 4:
      return std::ldexp(1.0, -18);
    default:
      return std::ldexp(1.0, dtype == DType::kF16 ? -10 : -8);
  }
}

}  // namespace

NormRun::NormRun(std::shared_ptr<GpuWorld> world, NormCase what)
    : world_(std::move(world)), case_(what) {
  auto artifact = std::make_shared<Artifact>(
      compile(norm_program(what.dtype, what.columns, world_->target()), world_->target()));
  const Device& device = world_->device();
  kernel_ = std::make_unique<GpuKernel>(device, std::move(artifact), world_->device_comm_bytes());
  const auto size = static_cast<std::size_t>(num_bytes(what.dtype));
  const std::size_t matrix = size * static_cast<std::size_t>(what.rows * what.columns);
  input_ = world_->window(matrix);
  gain_ = std::make_unique<DeviceMemory>(device, size * static_cast<std::size_t>(what.columns));
  for (int local = 0; local < world_->num_local_ranks(); ++local) {
    outputs_.push_back(std::make_unique<DeviceMemory>(device, matrix));
  }
  expected_.resize(static_cast<std::size_t>(what.rows * what.columns));
  pack_values();
}

void NormRun::pack_values() {
  const Artifact& artifact = kernel_->artifact();
  for (int local = 0; local < world_->num_local_ranks(); ++local) {
    for (const ArgumentSlot& slot : artifact.arguments) {
      ArgumentValue value{};
      switch (slot.kind) {
        case ArgumentSlot::Kind::kTensor:
          value.pointer = slot.index == 1 ? gain_->address() : outputs_[local]->address();
          break;
        case ArgumentSlot::Kind::kWindow:
          value.window = input_->handle(local);
          break;
        case ArgumentSlot::Kind::kScalar:
          value.scalar = std::bit_cast<std::uint32_t>(static_cast<float>(kEpsilon));
          break;
        case ArgumentSlot::Kind::kExtent:
          value.integer = case_.rows;
          break;
        case ArgumentSlot::Kind::kStride:
          value.integer = slot.dimension == 0 && slot.index != 1 ? case_.columns : 1;
          break;
        case ArgumentSlot::Kind::kDeviceComm:
        case ArgumentSlot::Kind::kLane:
        case ArgumentSlot::Kind::kCounters:
        case ArgumentSlot::Kind::kTensorMap:
          break;
      }
      values_.push_back(value);
    }
  }
}

void NormRun::fill(std::uint32_t seed) {
  const std::int64_t count = case_.rows * case_.columns;
  std::fill(expected_.begin(), expected_.end(), 0.0);
  for (int rank = 0; rank < world_->world_size(); ++rank) {
    const std::vector<std::byte> bytes = random_bytes(
        case_.dtype, count, seed * 64 + static_cast<std::uint32_t>(rank) + 1, expected_, true);
    if (rank >= world_->rank() && rank < world_->rank() + world_->num_local_ranks()) {
      upload(input_->address(rank), bytes);
    }
  }
  std::vector<double> gain(static_cast<std::size_t>(case_.columns));
  upload(gain_->address(), random_bytes(case_.dtype, case_.columns, seed * 64, gain, false));
  for (std::int64_t row = 0; row < case_.rows; ++row) {
    double* values = expected_.data() + row * case_.columns;
    double square = 0.0;
    for (std::int64_t i = 0; i < case_.columns; ++i) square += values[i] * values[i];
    const double scale = 1.0 / std::sqrt(square / static_cast<double>(case_.columns) + kEpsilon);
    for (std::int64_t i = 0; i < case_.columns; ++i) values[i] *= scale * gain[i];
  }
  poison_outputs();
}

void NormRun::poison_outputs() {
  // All bits set is NaN in every float dtype.
  const std::vector<std::byte> poison(
      static_cast<std::size_t>(case_.rows * case_.columns * num_bytes(case_.dtype)),
      std::byte{0xff});
  for (const auto& output : outputs_) upload(output->address(), poison);
}

int NormRun::auto_grid() const {
  const std::vector<std::int64_t> extents = {case_.rows};
  return kernel_->auto_grid(extents, world_->grid_limit(*kernel_));
}

void NormRun::launch(cuda::Stream stream, int grid) {
  if (grid == 0) grid = auto_grid();
  kernel_->check_grid(grid, world_->grid_limit(*kernel_));
  world_->launch(*kernel_, grid, stream, values_.data());
}

double NormRun::worst_error() const {
  const auto size = static_cast<std::size_t>(num_bytes(case_.dtype));
  double worst = 0.0;
  for (const auto& output : outputs_) {
    const std::vector<std::byte> bytes = download(output->address(), expected_.size() * size);
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const double found = value_of(case_.dtype, bytes.data() + i * size);
      if (!std::isfinite(found)) return std::numeric_limits<double>::infinity();
      const double bound = relative_bound(case_.dtype) * std::abs(expected_[i]) + 4e-6;
      worst = std::max(worst, std::abs(found - expected_[i]) / bound);
    }
  }
  return worst;
}

}  // namespace tilewire::test
