#include <algorithm>
#include <functional>

#include "tests/catch.h"
#include "tests/cpu/tile_program.h"

namespace tilewire {
namespace {

/// An access to a tile, with what the lowered op can say about it.
struct Access {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<bool> is_dynamic;  ///< the stride is an operand
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> bound;  ///< -1: no mask
  std::int64_t offset = 0;          ///< of element 0 from the pointer
  bool predicate = true;
  bool has_predicate = false;
};

std::int64_t random_in(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

constexpr std::int64_t kMemory = 4096;

Access random_access(std::mt19937_64& random) {
  Access access;
  const std::int64_t rank = random_in(random, 0, 3);
  std::int64_t stride = 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    access.shape.push_back(random_in(random, 1, 11));
    access.strides.push_back(stride);
    stride *= access.shape.back() + random_in(random, 0, 2);
  }
  if (random() % 3 == 0) {
    // Row-major order, else column-major with gaps.
    std::reverse(access.shape.begin(), access.shape.end());
    std::reverse(access.strides.begin(), access.strides.end());
  }
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t size = access.shape[static_cast<std::size_t>(i)];
    access.is_dynamic.push_back(random() % 2 == 0);
    access.begin.push_back(random_in(random, -size - 1, size));
    access.bound.push_back(random() % 3 == 0 ? -1 : random_in(random, 0, 2 * size));
  }
  access.offset = random_in(random, 0, 7);
  access.has_predicate = random() % 3 == 0;
  access.predicate = !access.has_predicate || random() % 4 != 0;
  return access;
}

void visit(const Access& access,
           const std::function<void(std::int64_t, std::int64_t, bool)>& body) {
  const std::size_t rank = access.shape.size();
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t count = 1;
  for (const std::int64_t extent : access.shape) count *= extent;
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat;
    std::int64_t address = access.offset;
    bool is_inside = access.predicate;
    for (std::size_t i = rank; i-- > 0;) {
      const std::int64_t j = rest % access.shape[i];
      rest /= access.shape[i];
      address += j * access.strides[i];
      const std::int64_t position = access.begin[i] + j;
      if (access.bound[i] >= 0 && (position < 0 || position >= access.bound[i])) is_inside = false;
    }
    body(flat, address, is_inside);
  }
}

/// Appends the operands behind pointer and tile; returns the attributes.
Attributes describe(Builder& builder, const Access& access, Values& operands) {
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> masked;
  const auto index = [&](std::int64_t value) { return builder.constant(value, kIndex); };
  for (std::size_t i = 0; i < access.shape.size(); ++i) {
    strides.push_back(access.is_dynamic[i] ? kDynamic : access.strides[i]);
    if (access.is_dynamic[i]) operands.push_back(index(access.strides[i]));
  }
  for (std::size_t i = 0; i < access.shape.size(); ++i) {
    masked.push_back(access.bound[i] >= 0 ? 1 : 0);
    if (access.bound[i] < 0) continue;
    operands.push_back(index(access.begin[i]));
    operands.push_back(index(access.bound[i]));
  }
  Attributes attributes = {{"shape", access.shape},
                           {"strides", strides},
                           {"masked", masked},
                           {"vector", std::int64_t{1}}};
  if (access.has_predicate) {
    operands.push_back(builder.constant(access.predicate, DType::kBool));
    attributes["predicated"] = true;
  }
  return attributes;
}

struct Extras {
  Bits where;  ///< empty: none
  Bits other;  ///< empty: none; one element: a scalar
};

Extras random_extras(const Access& access, DType dtype, std::mt19937_64& random) {
  std::size_t count = 1;
  for (const std::int64_t extent : access.shape) count *= static_cast<std::size_t>(extent);
  Extras extras;
  if (random() % 2 == 0) extras.where = random_elements(DType::kBool, count, random);
  if (random() % 2 == 0)
    extras.other = random_elements(dtype, random() % 2 == 0 ? 1 : count, random);
  return extras;
}

void append(TileProgram& program, const Access& access, DType dtype, const Extras& extras,
            Values& operands, Attributes& attributes) {
  if (!extras.other.empty()) {
    const std::vector<std::int64_t> scalar;
    operands.push_back(
        program.input(dtype, extras.other.size() == 1 ? scalar : access.shape, extras.other));
    attributes["other"] = true;
  }
  if (!extras.where.empty()) {
    operands.push_back(program.input(DType::kBool, access.shape, extras.where));
    attributes["where"] = true;
  }
}

TEST_CASE("loads read what is inside, and other or 0 elsewhere", "[cpu]") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 150; ++round) {
    const DType dtype = all_dtypes()[static_cast<std::size_t>(round) % all_dtypes().size()];
    const Access access = random_access(random);
    const Extras extras = random_extras(access, dtype, random);
    const Bits memory = random_elements(dtype, kMemory, random);

    TileProgram program;
    Values operands = {program.pointer(dtype, {kMemory}, memory, access.offset)};
    Attributes attributes = describe(program.builder, access, operands);
    append(program, access, dtype, extras, operands, attributes);
    program.output(program.builder.emit("tile_load", operands, attributes)->result());
    const Bits found = program.run().front();

    visit(access, [&](std::int64_t flat, std::int64_t address, bool is_inside) {
      const auto i = static_cast<std::size_t>(flat);
      std::uint64_t expected = 0;
      if (is_inside && (extras.where.empty() || extras.where[i] != 0)) {
        expected = memory[static_cast<std::size_t>(address)];
      } else if (!extras.other.empty()) {
        expected = extras.other[extras.other.size() == 1 ? 0 : i];
      }
      INFO("round " << round << ", element " << i);
      REQUIRE(same_value(found[i], expected, dtype));
    });
  }
}

TEST_CASE("stores write what is inside and touch nothing else", "[cpu]") {
  std::mt19937_64 random(12);
  for (int round = 0; round < 150; ++round) {
    const DType dtype = all_dtypes()[static_cast<std::size_t>(round) % all_dtypes().size()];
    const Access access = random_access(random);
    Extras extras = random_extras(access, dtype, random);
    extras.other.clear();
    Bits expected = random_elements(dtype, kMemory, random);

    TileProgram program;
    Value* pointer = program.pointer(dtype, {kMemory}, expected, access.offset);
    std::size_t count = 1;
    for (const std::int64_t extent : access.shape) count *= static_cast<std::size_t>(extent);
    const Bits elements = random_elements(dtype, count, random);
    Values operands = {pointer, program.input(dtype, access.shape, elements)};
    Attributes attributes = describe(program.builder, access, operands);
    append(program, access, dtype, extras, operands, attributes);
    program.builder.emit("tile_store", operands, attributes);
    program.run();

    visit(access, [&](std::int64_t flat, std::int64_t address, bool is_inside) {
      const auto i = static_cast<std::size_t>(flat);
      if (is_inside && (extras.where.empty() || extras.where[i] != 0)) {
        expected[static_cast<std::size_t>(address)] = elements[i];
      }
    });
    const Bits found = program.tensor(0);
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("round " << round << ", element " << i);
      REQUIRE(same_value(found[i], expected[i], dtype));
    }
  }
}

TEST_CASE("a store sees what was loaded before it, wherever they overlap", "[cpu]") {
  std::mt19937_64 random(13);
  for (const std::int64_t shift : {-3, -1, 0, 1, 3, 8}) {
    Bits memory = random_elements(DType::kF32, 300, random);
    TileProgram program;
    Value* from = program.pointer(DType::kF32, {300}, memory, 20);
    Value* parameter = from->definition->operands[0];
    Value* to =
        program.builder.emit("address", {parameter, program.builder.constant(20 + shift, kIndex)})
            ->result();
    Value* loaded = program.load(from, {200});
    program.store(to, program.builder.emit("neg", {loaded})->result());
    Value* again = program.load(from, {200});
    program.output(again);
    const Bits found = program.run().front();
    const Bits before = memory;
    for (std::size_t i = 0; i < 200; ++i) {
      memory[static_cast<std::size_t>(20 + shift) + i] =
          from_double(-to_double(before[20 + i], DType::kF32), DType::kF32);
    }
    const Bits after = program.tensor(0);
    for (std::size_t i = 0; i < 300; ++i) REQUIRE(same_value(after[i], memory[i], DType::kF32));
    for (std::size_t i = 0; i < 200; ++i) {
      REQUIRE(same_value(found[i], memory[20 + i], DType::kF32));
    }
  }
}

}  // namespace
}  // namespace tilewire
