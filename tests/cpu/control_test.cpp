#include <cmath>

#include "tests/catch.h"
#include "tests/cpu/tile_program.h"

namespace tilewire {
namespace {

constexpr std::int64_t kSize = 37;
using Doubles = std::vector<double>;

Bits to_bits(const Doubles& values, DType dtype) {
  Bits bits;
  for (const double value : values) bits.push_back(from_double(value, dtype));
  return bits;
}

Doubles to_doubles(const Bits& bits, DType dtype) {
  Doubles values;
  for (const std::uint64_t element : bits) values.push_back(to_double(element, dtype));
  return values;
}

Doubles some_numbers(int seed) {
  Doubles values;
  for (int i = 0; i < kSize; ++i) values.push_back((i * 7 + seed * 13) % 32 - 16);
  return values;
}

/// A scalar that the compiler doesn't know.
Value* unknown(TileProgram& program, std::int64_t value) {
  return program.input(DType::kI64, {}, {static_cast<std::uint64_t>(value)});
}

Value* tile(TileProgram& program, const Doubles& values) {
  return program.input(DType::kF32, {static_cast<std::int64_t>(values.size())},
                       to_bits(values, DType::kF32));
}

/// The elements in another order: element i is element (i + 1) % size of x.
Value* rotated(TileProgram& program, Value* x) {
  // [1, size] seen as [size, 1]: reshape maps positions one to one, so that a shift needs a sum of
  // a comparison: element i of the result is the sum over j of x[j] where j == i + 1.
  Builder& b = program.builder;
  Value* column = b.reshape(b.arange(0, kSize), {kSize, 1});
  Value* row = b.reshape(b.arange(0, kSize), {1, kSize});
  Value* next = b.binary("mod", b.binary("add", column, std::int64_t{1}), std::int64_t{kSize});
  Value* is_next =
      b.binary("eq", b.broadcast(next, {kSize, kSize}), b.broadcast(row, {kSize, kSize}));
  Value* all = b.broadcast(b.reshape(x, {1, kSize}), {kSize, kSize});
  return b.reduce("sum", b.where(is_next, all, 0.0), 1);
}

TEST_CASE("a carried tile whose new value reads the old one elsewhere", "[cpu]") {
  TileProgram program;
  Builder& b = program.builder;
  const Doubles numbers = some_numbers(1);
  Value* x = tile(program, numbers);
  const Values result = b.for_range(std::int64_t{0}, unknown(program, 5), std::int64_t{1}, {x},
                                    [&](Value*, const Values& carried) {
                                      return std::vector<Operand>{rotated(program, carried[0])};
                                    });
  program.output(result[0]);
  Doubles expected;
  for (std::size_t i = 0; i < kSize; ++i) expected.push_back(numbers[(i + 5) % kSize]);
  CHECK(to_doubles(program.run()[0], DType::kF32) == expected);
}

TEST_CASE("a deferred value that reads the carried tile at other positions", "[cpu]") {
  // y[i, j] = x[j, i] by way of reshape, so that element-wise code reads across.
  TileProgram program;
  Builder& b = program.builder;
  Doubles numbers;
  for (int i = 0; i < 30; ++i) numbers.push_back(i);
  Value* x = program.input(DType::kF32, {2, 15}, to_bits(numbers, DType::kF32));
  const Values result = b.for_range(std::int64_t{0}, unknown(program, 3), std::int64_t{1}, {x},
                                    [&](Value*, const Values& carried) {
                                      Value* first = b.reduce("max", carried[0], 0);
                                      Value* row = b.broadcast(b.reshape(first, {1, 15}), {2, 15});
                                      return std::vector<Operand>{b.binary("add", carried[0], row)};
                                    });
  program.output(result[0]);
  Doubles expected = numbers;
  for (int round = 0; round < 3; ++round) {
    const Doubles before = expected;
    for (std::size_t i = 0; i < 30; ++i) {
      expected[i] = before[i] + std::max(before[i % 15], before[15 + i % 15]);
    }
  }
  CHECK(to_doubles(program.run()[0], DType::kF32) == expected);
}

TEST_CASE("carried tiles that swap, add up and stay", "[cpu]") {
  for (const std::int64_t count : {0, 1, 2, 7}) {
    TileProgram program;
    Builder& b = program.builder;
    Doubles x = some_numbers(1);
    Doubles y = some_numbers(2);
    Doubles z = some_numbers(3);
    const Values result =
        b.for_range(std::int64_t{0}, unknown(program, count), std::int64_t{1},
                    {tile(program, x), tile(program, y), tile(program, z), std::int64_t{100}},
                    [&](Value* index, const Values& carried) {
                      Value* sum = b.binary("add", carried[0], carried[1]);
                      return std::vector<Operand>{carried[1], sum, carried[2],
                                                  b.binary("add", carried[3], index)};
                    });
    for (Value* value : result) program.output(value);
    for (std::int64_t round = 0; round < count; ++round) {
      for (std::size_t i = 0; i < kSize; ++i) {
        const double sum = x[i] + y[i];
        x[i] = y[i];
        y[i] = sum;
      }
    }
    const auto found = program.run();
    CHECK(to_doubles(found[0], DType::kF32) == x);
    CHECK(to_doubles(found[1], DType::kF32) == y);
    CHECK(to_doubles(found[2], DType::kF32) == z);
    CHECK(to_integer(found[3][0], DType::kI64) == 100 + count * (count - 1) / 2);
  }
}

TEST_CASE("a sum over memory is accumulated in place", "[cpu]") {
  TileProgram program;
  Builder& b = program.builder;
  Doubles numbers;
  for (int i = 0; i < 8 * kSize; ++i) numbers.push_back(i % 91);
  Value* pointer = program.pointer(DType::kBF16, {8 * kSize}, to_bits(numbers, DType::kBF16));
  Value* parameter = pointer->definition->operands[0];
  const Values result = b.for_range(
      std::int64_t{0}, unknown(program, 8), std::int64_t{1}, {b.zeros({kSize}, DType::kF32)},
      [&](Value* index, const Values& carried) {
        Value* offset = b.binary("mul", index, std::int64_t{kSize});
        Value* row = program.load(b.emit("address", {parameter, offset})->result(), {kSize});
        return std::vector<Operand>{b.binary("add", carried[0], row)};
      });
  program.output(result[0]);
  const Doubles found = to_doubles(program.run()[0], DType::kF32);
  for (std::size_t i = 0; i < kSize; ++i) {
    double expected = 0.0;
    for (std::size_t k = 0; k < 8; ++k) expected += numbers[k * kSize + i];
    CHECK(found[i] == expected);
  }
  CHECK(program.arena_bytes() == 192);  // one tile of 37 f32, nothing else
}

TEST_CASE("branches give tiles and scalars", "[cpu]") {
  for (const std::int64_t flag : {0, 1}) {
    TileProgram program;
    Builder& b = program.builder;
    const Doubles numbers = some_numbers(4);
    Value* x = tile(program, numbers);
    Value* condition = b.binary("ne", unknown(program, flag), std::int64_t{0});
    const Values result = b.if_(
        condition, [&] { return std::vector<Operand>{b.binary("mul", x, 3.0), std::int64_t{7}}; },
        [&] {
          Value* sum = b.reduce("sum", x);
          return std::vector<Operand>{b.binary("sub", x, sum), std::int64_t{9}};
        });
    program.output(result[0]);
    program.output(result[1]);
    program.output(x);
    double sum = 0.0;
    for (const double number : numbers) sum += number;
    const auto found = program.run();
    for (std::size_t i = 0; i < kSize; ++i) {
      CHECK(to_double(found[0][i], DType::kF32) == (flag != 0 ? numbers[i] * 3 : numbers[i] - sum));
    }
    CHECK(found[1][0] == (flag != 0 ? 7U : 9U));
    CHECK(to_doubles(found[2], DType::kF32) == numbers);
  }
}

TEST_CASE("a return ends the instance, from inside a loop too", "[cpu]") {
  TileProgram program;
  Builder& b = program.builder;
  Value* limit = unknown(program, 3);
  Value* pointer = program.pointer(DType::kI64, {10}, Bits(10, 5));
  Value* parameter = pointer->definition->operands[0];
  b.for_range(std::int64_t{0}, std::int64_t{10}, std::int64_t{1}, {},
              [&](Value* index, const Values&) {
                b.if_(
                    b.binary("eq", index, limit),
                    [&] {
                      b.return_();
                      return std::vector<Operand>{};
                    },
                    [] { return std::vector<Operand>{}; });
                program.store(b.emit("address", {parameter, index})->result(), index);
                return std::vector<Operand>{};
              });
  program.store(pointer, b.constant(std::int64_t{77}, DType::kI64));
  program.run();
  CHECK(program.tensor(1) == Bits{0, 1, 2, 5, 5, 5, 5, 5, 5, 5});
}

TEST_CASE("loops with any bounds end", "[cpu]") {
  const auto iterations = [](std::int64_t lower, std::int64_t upper, std::int64_t step) {
    TileProgram program;
    const Values result = program.builder.for_range(
        unknown(program, lower), unknown(program, upper), unknown(program, step), {std::int64_t{0}},
        [&](Value*, const Values& carried) {
          return std::vector<Operand>{program.builder.binary("add", carried[0], std::int64_t{1})};
        });
    program.output(result[0]);
    return program.run()[0][0];
  };
  CHECK(iterations(0, 10, 3) == 4);
  CHECK(iterations(-5, 5, 1) == 10);
  CHECK(iterations(5, 5, 1) == 0);
  CHECK(iterations(9, 5, 1) == 0);
  CHECK(iterations(0, 10, 0) == 0);
  CHECK(iterations(10, 0, -1) == 0);
}

TEST_CASE("nested loops carry tiles, and the arena is used again", "[cpu]") {
  TileProgram program;
  Builder& b = program.builder;
  const Doubles numbers = some_numbers(5);
  Value* x = tile(program, numbers);
  const Values result = b.for_range(
      std::int64_t{0}, unknown(program, 4), std::int64_t{1}, {x},
      [&](Value* i, const Values& outer) {
        const Values inner = b.for_range(
            std::int64_t{0}, i, std::int64_t{1}, {outer[0]}, [&](Value*, const Values& carried) {
              Value* doubled = b.binary("add", carried[0], carried[0]);
              Value* shifted = b.binary("sub", doubled, b.reduce("max", doubled));
              return std::vector<Operand>{b.binary("add", shifted, carried[0])};
            });
        return std::vector<Operand>{b.binary("add", inner[0], 1.0)};
      });
  program.output(result[0]);
  Doubles expected = numbers;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < i; ++k) {
      double most = -HUGE_VAL;
      for (const double value : expected) most = std::max(most, 2 * value);
      for (double& value : expected) value = 2 * value - most + value;
    }
    for (double& value : expected) value += 1;
  }
  CHECK(to_doubles(program.run()[0], DType::kF32) == expected);
  CHECK(program.arena_bytes() <= 4 * 192);
}

TEST_CASE("long chains of ops are few loops", "[cpu]") {
  for (const int length : {100, 5000}) {
    TileProgram program;
    Builder& b = program.builder;
    const Doubles numbers = some_numbers(6);
    Value* x = tile(program, numbers);
    for (int i = 0; i < length; ++i) x = b.binary("add", x, 1.0);
    program.output(x);
    const Doubles found = to_doubles(program.run()[0], DType::kF32);
    for (std::size_t i = 0; i < kSize; ++i) CHECK(found[i] == numbers[i] + length);
    // What was loaded is written down, since the store might overlap it.
    CHECK(program.arena_bytes() <= (length == 100 ? 192 : 2 * 192));
  }
}

TEST_CASE("values used twice are computed once, and die when both users are done", "[cpu]") {
  TileProgram program;
  Builder& b = program.builder;
  const Doubles numbers = some_numbers(7);
  Value* x = tile(program, numbers);
  for (int i = 0; i < 40; ++i) {
    Value* half = b.binary("mul", x, 0.5);
    x = b.binary("add", half, half);
  }
  program.output(x);
  CHECK(to_doubles(program.run()[0], DType::kF32) == numbers);
  CHECK(program.arena_bytes() <= 3 * 192);
}

}  // namespace
}  // namespace tilewire
