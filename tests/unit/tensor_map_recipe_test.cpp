#include <cstring>
#include <span>
#include <vector>

#include "compiler/support/error.h"
#include "runtime/driver/tensor_map.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

using Kind = ArgumentSlot::Kind;
using Numbers = std::vector<std::int64_t>;

constexpr SpareLines kSpare{.zeros = 0x5000, .scratch = 0x5080};
constexpr std::uint64_t kAddress = 0x7f0000000000;

/// `a`: f16[T, 64] with strides of its own. `b`: f32[B, T, K], contiguous. `w`: a window u8[T, 32]
/// in an LSA team of 4. Slots: a, b, w, strides of a, T, B, K, the map.
Artifact artifact_with(TensorMapSpec spec) {
  Artifact artifact;
  artifact.kernel = "k";
  artifact.target = Target::parse("sm_90a:world=4,lsa=4");
  const Dimension rows{kDynamic, "T"};
  artifact.parameters.resize(3);
  artifact.parameters[0].name = "a";
  artifact.parameters[0].dtype = DType::kF16;
  artifact.parameters[0].shape = {rows, {64, {}}};
  artifact.parameters[1].name = "b";
  artifact.parameters[1].dtype = DType::kF32;
  artifact.parameters[1].shape = {{kDynamic, "B"}, rows, {kDynamic, "K"}};
  artifact.parameters[2].name = "w";
  artifact.parameters[2].kind = Parameter::Kind::kWindow;
  artifact.parameters[2].dtype = DType::kU8;
  artifact.parameters[2].shape = {rows, {32, {}}};
  artifact.dimensions = {"T", "B", "K"};
  artifact.facts.contiguous = {false, true, true};
  artifact.arguments = {{Kind::kTensor, 0, 0}, {Kind::kTensor, 1, 0}, {Kind::kWindow, 2, 0},
                        {Kind::kStride, 0, 0}, {Kind::kStride, 0, 1}, {Kind::kExtent, 0, 0},
                        {Kind::kExtent, 1, 0}, {Kind::kExtent, 2, 0}, {Kind::kTensorMap, 0, 0}};
  artifact.tensor_maps = {std::move(spec)};
  return artifact;
}

TensorMapSpec of_a() {
  return {.parameter = 0,
          .dtype = DType::kF16,
          .dimensions = {1, 0},
          .box = {64, 128},
          .swizzle = TensorMapSpec::Swizzle::k128Bytes};
}

TensorMapSpec of_b() {
  return {.parameter = 1, .dtype = DType::kF32, .dimensions = {2, 1, 0}, .box = {8, 16, 2}};
}

TensorMapSpec of_w() {
  return {.parameter = 2,
          .dtype = DType::kU8,
          .dimensions = {1, 0, TensorMapSpec::kLsaRank},
          .box = {32, 8, 1},
          .swizzle = TensorMapSpec::Swizzle::k32Bytes};
}

struct Launch {
  std::int64_t rows = 100;
  std::int64_t batch = 3;
  std::int64_t columns = 12;
  Numbers strides = {72, 1};
  std::uint64_t address = kAddress;
  std::uint64_t distance = std::uint64_t{1} << 30;
  int lsa_rank = 0;

  std::vector<ArgumentValue> values() const {
    std::vector<ArgumentValue> values(9);
    values[0].pointer = values[1].pointer = address;
    values[2].window = {nullptr, 0, reinterpret_cast<void*>(address), distance, 0};
    values[3].integer = strides[0];
    values[4].integer = strides[1];
    values[5].integer = rows;
    values[6].integer = batch;
    values[7].integer = columns;
    return values;
  }
};

TensorMapRequest request(const TensorMapSpec& spec, const Launch& launch = {}) {
  const TensorMapRecipe recipe(artifact_with(spec), 0);
  TensorMapRecipe::Words words;
  recipe.read(launch.values().data(), launch.lsa_rank, words);
  return recipe.request(words, kSpare);
}

template <std::size_t kSize, typename Number>
Numbers first(const std::array<Number, kSize>& numbers, std::size_t count) {
  return {numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

TEST_CASE("the tensor map of a tensor has its strides, in bytes") {
  const TensorMapRequest made = request(of_a());
  CHECK(made.data_type == cuda::kMapUint16);
  CHECK(made.rank == 2);
  CHECK(made.address == kAddress);
  CHECK(first(made.extents, 2) == Numbers{64, 100});
  CHECK(first(made.strides, 1) == Numbers{144});
  CHECK(first(made.box, 2) == Numbers{64, 128});
  CHECK(made.swizzle == cuda::kMapSwizzle128Bytes);
}

TEST_CASE("the tensor map of a contiguous tensor follows from its extents") {
  const TensorMapRequest made = request(of_b());
  CHECK(made.data_type == cuda::kMapUint32);
  CHECK(made.rank == 3);
  CHECK(first(made.extents, 3) == Numbers{12, 100, 3});
  CHECK(first(made.strides, 2) == Numbers{48, 4800});
  CHECK(first(made.box, 3) == Numbers{8, 16, 2});
  CHECK(made.swizzle == cuda::kMapSwizzleNone);
}

TEST_CASE("the outer dimensions of a tensor map come in any order") {
  TensorMapSpec spec = of_b();
  spec.dimensions = {2, 0, 1};
  const TensorMapRequest made = request(spec);
  CHECK(first(made.extents, 3) == Numbers{12, 3, 100});
  CHECK(first(made.strides, 2) == Numbers{4800, 48});
}

TEST_CASE("the tensor map of a window begins at the copy of the team's first rank") {
  for (const int lsa_rank : {0, 3}) {
    CAPTURE(lsa_rank);
    const TensorMapRequest made = request(of_w(), {.lsa_rank = lsa_rank});
    CHECK(made.rank == 3);
    CHECK(made.address == kAddress - (std::uint64_t{1} << 30) * lsa_rank);
    CHECK(first(made.extents, 3) == Numbers{32, 100, 4});
    CHECK(first(made.strides, 2) == Numbers{32, std::int64_t{1} << 30});
  }
  TensorMapSpec own = of_w();
  own.dimensions.pop_back();
  own.box.pop_back();
  CHECK(request(own, {.lsa_rank = 3}).address == kAddress);
  CHECK(request(own, {.lsa_rank = 3}).rank == 2);
}

TEST_CASE("the tensor map of an array without elements loads zeros only") {
  const Launch empty[] = {{.rows = 0}, {.columns = 0, .address = 0}, {.batch = 0}};
  for (const Launch& launch : empty) {
    const TensorMapRequest made = request(of_b(), launch);
    CHECK(made.address == kSpare.zeros);
    CHECK(first(made.extents, 3) == Numbers{1, 1, 1});
    CHECK(first(made.strides, 2) == Numbers{16, 16});
    CHECK(first(made.box, 3) == Numbers{8, 16, 2});
  }
}

TEST_CASE("a tensor map for stores to an array without elements spares the zeros") {
  Artifact artifact = artifact_with(of_b());
  artifact.written = {false, true, false};
  const TensorMapRecipe recipe(artifact, 0);
  TensorMapRecipe::Words words;
  recipe.read(Launch{.rows = 0}.values().data(), 0, words);
  CHECK(recipe.request(words, kSpare).address == kSpare.scratch);
  recipe.read(Launch{}.values().data(), 0, words);
  CHECK(recipe.request(words, kSpare).address == kAddress);
}

TEST_CASE("strides of extents of 1 reach no tensor map") {
  const TensorMapRequest made = request(of_a(), {.rows = 1, .strides = {3, 1}});
  CHECK(first(made.extents, 2) == Numbers{64, 1});
  CHECK(first(made.strides, 1) == Numbers{16});
}

TEST_CASE("what TMA can't load is refused, with what it takes") {
  CHECK_THROWS_WITH(
      request(of_a(), {.strides = {65, 1}}),
      "kernel `k`: argument `a` at 0x7f0000000000 with extents [100, 64] and strides [65, 1] of 2 "
      "bytes: the kernel was compiled to access it by TMA, which takes addresses and strides that "
      "are multiples of 16 bytes, positive strides below 2^40 bytes, 1 in dimension 1, and extents "
      "below 2^31: compile it without that (LocalFacts::mappable), or pass a copy");
  CHECK_THROWS_AS(request(of_a(), {.strides = {64, 2}}), UserError);
  CHECK_THROWS_AS(request(of_a(), {.address = kAddress + 8}), UserError);
  CHECK_THROWS_AS(request(of_b(), {.columns = 11}), UserError);
  CHECK_THROWS_AS(request(of_b(), {.rows = std::int64_t{1} << 31}), UserError);
  CHECK_THROWS_WITH(request(of_w(), {.distance = std::uint64_t{1} << 40}),
                    test::contains("4 copies 1099511627776 bytes apart"));
}

TEST_CASE("a tensor map that the hardware hasn't got is the compiler's fault") {
  const auto refuses = [](const auto& change) {
    TensorMapSpec spec = of_w();
    change(spec);
    CHECK_THROWS_AS(TensorMapRecipe(artifact_with(spec), 0), InternalError);
  };
  refuses([](TensorMapSpec& spec) { spec.parameter = 3; });
  refuses([](TensorMapSpec& spec) { spec.dtype = DType::kF16; });
  refuses([](TensorMapSpec& spec) { spec.box = {32, 8}; });
  refuses([](TensorMapSpec& spec) { spec.box = {16, 257, 1}; });
  refuses([](TensorMapSpec& spec) { spec.box = {8, 8, 1}; });
  refuses([](TensorMapSpec& spec) { spec.box = {64, 8, 1}; });
  refuses([](TensorMapSpec& spec) { spec.box = {32, 8, 2}; });
  refuses([](TensorMapSpec& spec) { spec.dimensions = {0, 1, TensorMapSpec::kLsaRank}; });
  refuses([](TensorMapSpec& spec) { spec.dimensions = {1, 1, TensorMapSpec::kLsaRank}; });
  refuses([](TensorMapSpec& spec) { spec.dimensions = {1, TensorMapSpec::kLsaRank, 0}; });
  refuses([](TensorMapSpec& spec) { spec.parameter = 0; });
  CHECK_NOTHROW(TensorMapRecipe(artifact_with(of_w()), 0));
  Artifact artifact = artifact_with(of_b());
  artifact.arguments.erase(artifact.arguments.begin() + 6);
  CHECK_THROWS_AS(TensorMapRecipe(artifact, 0), InternalError);
}

TEST_CASE("a launch with the arguments of an earlier one makes no tensor map anew") {
  std::vector<TensorMapRequest> made;
  Artifact artifact = artifact_with(of_a());
  artifact.tensor_maps.push_back(of_w());
  const TensorMaps maps(artifact, kSpare, [&made](const auto& request, device::TensorMap& map) {
    made.push_back(request);
    std::memset(map.bytes, static_cast<int>(made.size()), sizeof(map.bytes));
    return cuda::kSuccess;
  });
  device::TensorMap found[2];
  const auto launch = [&](const Launch& launch) {
    maps.make(launch.values().data(), launch.lsa_rank, found);
    return Numbers{found[0].bytes[0], found[1].bytes[127]};
  };
  CHECK(launch({}) == Numbers{1, 2});
  CHECK(launch({}) == Numbers{1, 2});
  CHECK(launch({.columns = 99}) == Numbers{1, 2});  // of `b` alone
  CHECK(made.size() == 2);
  CHECK(launch({.rows = 101}) == Numbers{3, 4});
  CHECK(launch({.strides = {80, 1}}) == Numbers{5, 2});
  CHECK(launch({.lsa_rank = 1}) == Numbers{1, 6});
  CHECK(launch({.rows = 101}) == Numbers{3, 4});
  CHECK(made.size() == 6);
}

TEST_CASE("a tensor map that the driver refuses is an error each time") {
  int num_calls = 0;
  const TensorMaps maps(artifact_with(of_a()), kSpare, [&](const auto&, device::TensorMap&) {
    ++num_calls;
    return cuda::kErrorInvalidValue;
  });
  device::TensorMap map;
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(maps.make(Launch{}.values().data(), 0, &map), BackendError);
  }
  CHECK(num_calls == 2);
}

}  // namespace tilewire
