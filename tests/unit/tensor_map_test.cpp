#include "compiler/jit/tensor_map.h"

#include <vector>

#include "tests/catch.h"

namespace tilewire {
namespace {

using Sizes = std::vector<std::int64_t>;

bool fits(DType dtype, const Sizes& extents, const Sizes& strides, std::uint64_t address = 4096) {
  return is_mappable(dtype, address, extents, strides);
}

}  // namespace

TEST_CASE("a tensor map describes arrays whose rows are unit strides, 16-byte multiples apart") {
  CHECK(fits(DType::kF16, {7}, {1}));
  CHECK(fits(DType::kF16, {100, 64}, {64, 1}));
  CHECK(fits(DType::kF16, {100, 61}, {64, 1}));
  CHECK(fits(DType::kU8, {3, 5, 48}, {1024, 48, 1}));
  CHECK(fits(DType::kF64, {2, 2, 2, 2, 2}, {16, 16, 4, 2, 1}));
  CHECK_FALSE(fits(DType::kF16, {7}, {2}));
  CHECK_FALSE(fits(DType::kF16, {100, 64}, {60, 1}));
  CHECK_FALSE(fits(DType::kU8, {100, 64}, {72, 1}));
  CHECK_FALSE(fits(DType::kF16, {100, 64}, {1, 128}));
  CHECK_FALSE(fits(DType::kF16, {100, 64}, {0, 1}));
  CHECK_FALSE(fits(DType::kF16, {100, 64}, {-64, 1}));
}

TEST_CASE("a tensor map needs an aligned address and one to five dimensions") {
  CHECK_FALSE(fits(DType::kF32, {100, 64}, {64, 1}, 4096 + 8));
  CHECK(fits(DType::kF32, {100, 64}, {64, 1}, 4096 + 16));
  CHECK_FALSE(fits(DType::kF32, {}, {}));
  CHECK_FALSE(fits(DType::kF32, {1, 1, 1, 1, 1, 64}, {64, 64, 64, 64, 64, 1}));
}

TEST_CASE("strides of extents of 1 don't count for a tensor map, nor do any of an empty array") {
  CHECK(fits(DType::kF16, {1, 61}, {61, 1}));
  CHECK(fits(DType::kF16, {100, 1}, {64, 5}));
  CHECK_FALSE(fits(DType::kF16, {100, 1}, {1, 1}));
  CHECK(fits(DType::kF16, {0, 61}, {61, 1}, 2));
  CHECK(fits(DType::kF16, {61, 0}, {0, 1}));
}

TEST_CASE("coordinates and strides of a tensor map have so many bits") {
  const std::int64_t most = INT32_MAX;
  CHECK(fits(DType::kU8, {most}, {1}));
  CHECK_FALSE(fits(DType::kU8, {most + 1}, {1}));
  CHECK_FALSE(fits(DType::kU8, {most + 1, 16}, {16, 1}));
  const std::int64_t limit = std::int64_t{1} << 40;
  CHECK(fits(DType::kU8, {2, 16}, {limit - 16, 1}));
  CHECK_FALSE(fits(DType::kU8, {2, 16}, {limit, 1}));
  CHECK(fits(DType::kF32, {2, 16}, {limit / 4 - 4, 1}));
  CHECK_FALSE(fits(DType::kF32, {2, 16}, {limit / 4, 1}));
}

}  // namespace tilewire
