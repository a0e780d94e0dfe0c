#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include "compiler/codegen/cpu/arena.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/cpu/tile_program.h"

namespace tilewire {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t product(const Shape& shape) {
  std::int64_t result = 1;
  for (const std::int64_t extent : shape) result *= extent;
  return result;
}

/// Runs a random program at once, on vectors. All tiles are i32, so that results are exact.
struct Interpreter {
  struct Tile {
    Shape shape;
    std::vector<std::int32_t> elements;
  };
  using Body = std::function<std::vector<Tile>(std::int32_t index, const std::vector<Tile>&)>;
  using Branch = std::function<std::vector<Tile>()>;
  std::vector<Tile> outputs;
  std::vector<std::int32_t> memory;

  Tile binary(std::string_view op, const Tile& a, const Tile& b) {
    Tile result = a;
    for (std::size_t i = 0; i < a.elements.size(); ++i) {
      const auto x = static_cast<std::uint32_t>(a.elements[i]);
      const auto y = static_cast<std::uint32_t>(b.elements[i]);
      std::uint32_t z = op == "add" ? x + y : op == "sub" ? x - y : op == "xor" ? x ^ y : x * y;
      auto signed_z = static_cast<std::int32_t>(z);
      if (op == "maximum") signed_z = std::max(a.elements[i], b.elements[i]);
      result.elements[i] = signed_z;
    }
    return result;
  }
  Tile reshape(const Tile& x, const Shape& shape) { return {shape, x.elements}; }
  Tile broadcast(const Tile& row, const Shape& shape) {  // [1, n] to [m, n]
    Tile result{shape, {}};
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      result.elements.insert(result.elements.end(), row.elements.begin(), row.elements.end());
    }
    return result;
  }
  Tile reduce(std::string_view op, const Tile& x, std::int64_t axis) {
    Shape shape = {x.shape[static_cast<std::size_t>(1 - axis)]};
    Tile result{shape, {}};
    for (std::int64_t k = 0; k < shape[0]; ++k) {
      std::int32_t folded = op == "sum" ? 0 : INT32_MIN;
      for (std::int64_t i = 0; i < x.shape[static_cast<std::size_t>(axis)]; ++i) {
        const std::int64_t place = axis == 0 ? i * x.shape[1] + k : k * x.shape[1] + i;
        const std::int32_t element = x.elements[static_cast<std::size_t>(place)];
        folded = op == "sum" ? static_cast<std::int32_t>(static_cast<std::uint32_t>(folded) +
                                                         static_cast<std::uint32_t>(element))
                             : std::max(folded, element);
      }
      result.elements.push_back(folded);
    }
    return result;
  }
  Tile load(std::int64_t offset, const Shape& shape) {
    const auto begin = memory.begin() + offset;
    return {shape, {begin, begin + product(shape)}};
  }
  void store(std::int64_t offset, const Tile& x) {
    std::copy(x.elements.begin(), x.elements.end(), memory.begin() + offset);
  }
  std::vector<Tile> loop(std::int64_t count, std::vector<Tile> carried, const Body& body) {
    for (std::int64_t i = 0; i < count; ++i) carried = body(static_cast<std::int32_t>(i), carried);
    return carried;
  }
  std::vector<Tile> choose(bool condition, const Branch& a, const Branch& b) {
    return condition ? a() : b();
  }
  Tile full(std::int32_t value, const Shape& shape) {
    return {shape, std::vector<std::int32_t>(static_cast<std::size_t>(product(shape)), value)};
  }
  void output(const Tile& x) { outputs.push_back(x); }
};

/// Builds the same program as IR.
struct IrMachine {
  struct Tile {
    Shape shape;
    Value* value;
  };
  using Body = std::function<std::vector<Tile>(Value* index, const std::vector<Tile>&)>;
  using Branch = std::function<std::vector<Tile>()>;
  TileProgram program;
  Builder& b = program.builder;
  Value* memory = nullptr;  ///< the tensor parameter

  Value* unknown(std::int64_t value) {
    return program.input(DType::kI64, {}, {static_cast<std::uint64_t>(value)});
  }
  Tile binary(std::string_view op, const Tile& x, const Tile& y) {
    return {x.shape, b.emit(op, {x.value, y.value})->result()};
  }
  Tile reshape(const Tile& x, const Shape& shape) { return {shape, b.reshape(x.value, shape)}; }
  Tile broadcast(const Tile& x, const Shape& shape) { return {shape, b.broadcast(x.value, shape)}; }
  Tile reduce(std::string_view op, const Tile& x, std::int64_t axis) {
    return {{x.shape[static_cast<std::size_t>(1 - axis)]},
            b.reduce(op, x.value, static_cast<int>(axis))};
  }
  Value* address(std::int64_t offset) {
    return b.emit("address", {memory, b.constant(offset, kIndex)})->result();
  }
  Tile load(std::int64_t offset, const Shape& shape) {
    return {shape, program.load(address(offset), shape)};
  }
  void store(std::int64_t offset, const Tile& x) { program.store(address(offset), x.value); }
  std::vector<Tile> loop(std::int64_t count, const std::vector<Tile>& carried, const Body& body) {
    std::vector<Operand> initial;
    for (const Tile& tile : carried) initial.emplace_back(tile.value);
    const Values results =
        b.for_range(std::int64_t{0}, unknown(count), std::int64_t{1}, initial,
                    [&](Value* index, const Values& values) {
                      std::vector<Operand> next;
                      for (const Tile& tile : body(index, with_values(carried, values))) {
                        next.emplace_back(tile.value);
                      }
                      return next;
                    });
    return with_values(carried, results);
  }
  std::vector<Tile> choose(bool condition, const Branch& then_branch, const Branch& else_branch) {
    std::vector<Tile> shapes;
    const auto run = [&shapes](const Branch& branch) {
      shapes = branch();
      std::vector<Operand> values;
      for (const Tile& tile : shapes) values.emplace_back(tile.value);
      return values;
    };
    Value* is_one = b.binary("eq", unknown(condition ? 1 : 0), std::int64_t{1});
    const Values results =
        b.if_(is_one, [&] { return run(then_branch); }, [&] { return run(else_branch); });
    return with_values(shapes, results);
  }
  Tile full(Value* value, const Shape& shape) {
    return {shape, b.full(shape, b.cast(value, DType::kI32), DType::kI32)};
  }
  void output(const Tile& x) { program.output(x.value); }

  static std::vector<Tile> with_values(std::vector<Tile> tiles, const Values& values) {
    for (std::size_t i = 0; i < tiles.size(); ++i) tiles[i].value = values[i];
    return tiles;
  }
};

constexpr std::int64_t kMemory = 200;
const std::vector<Shape> kShapes = {{24}, {4, 6}, {6, 4}, {1, 24}, {24, 1}};

/// Appends random statements to a program that starts from `pool`. Choices depend on the seed and
/// on shapes only, so that both machines make the same ones.
template <typename Machine>
class Generator {
 public:
  using Tile = typename Machine::Tile;
  explicit Generator(Machine& machine) : machine_(machine) {}

  void statements(std::uint64_t seed, int count, int depth, std::vector<Tile>& pool) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t inner_seed = random();
      const Tile x = pool[random() % pool.size()];
      const std::uint64_t choice = random() % (depth > 0 ? 12 : 9);
      const Shape shape = kShapes[random() % kShapes.size()];
      const std::uint64_t number = random();
      if (choice < 4) {
        const char* const ops[] = {"add", "sub", "mul", "xor", "maximum"};
        const Tile y = machine_.reshape(pool[number % pool.size()], x.shape);
        pool.push_back(machine_.binary(ops[number / 64 % 5], x, y));
      } else if (choice == 4) {
        pool.push_back(machine_.reshape(x, shape));
      } else if (choice == 5) {
        pool.push_back(reduced(x, number));
      } else if (choice == 6) {
        pool.push_back(machine_.load(static_cast<std::int64_t>(number % (kMemory - 24)), shape));
      } else if (choice == 7) {
        machine_.store(static_cast<std::int64_t>(number % (kMemory - 24)), x);
      } else if (choice == 8) {
        pool.push_back(machine_.binary("add", x, x));
      } else if (choice < 11) {
        loop(inner_seed, number, depth, pool);
      } else {
        branch(inner_seed, number, depth, pool);
      }
    }
  }

 private:
  /// Folds 24 elements to 4 or 6 and spreads them to 24 again.
  Tile reduced(const Tile& x, std::uint64_t number) {
    const Shape shape = number % 2 == 0 ? Shape{4, 6} : Shape{6, 4};
    const Tile tile = machine_.reshape(x, shape);
    const auto axis = static_cast<std::int64_t>(number / 2 % 2);
    const Tile folded = machine_.reduce(number / 4 % 2 == 0 ? "sum" : "max", tile, axis);
    const Tile row = machine_.reshape(folded, {1, folded.shape[0]});
    return machine_.broadcast(row, {24 / folded.shape[0], folded.shape[0]});
  }

  static std::vector<Tile> some(const std::vector<Tile>& pool, std::uint64_t number) {
    std::vector<Tile> chosen;
    for (std::uint64_t i = 0; i < 1 + number % 3; ++i) {
      chosen.push_back(pool[(number / 8 + i * 7) % pool.size()]);
    }
    return chosen;
  }

  void loop(std::uint64_t seed, std::uint64_t number, int depth, std::vector<Tile>& pool) {
    const std::vector<Tile> initial = some(pool, number);
    const auto results = machine_.loop(
        static_cast<std::int64_t>(number / 1024 % 4), initial,
        [&](auto index, const std::vector<Tile>& carried) {
          std::vector<Tile> inner = pool;
          inner.insert(inner.end(), carried.begin(), carried.end());
          inner.push_back(machine_.full(index, {24}));
          statements(seed, 5, depth - 1, inner);
          std::vector<Tile> next;
          for (std::size_t i = 0; i < carried.size(); ++i) {
            // Recent values, carried ones (swapped too), older ones.
            const std::size_t place = inner.size() - 1 - (seed / (8 + i) + i) % 9 % inner.size();
            next.push_back(machine_.reshape(inner[place], initial[i].shape));
          }
          return next;
        });
    pool.insert(pool.end(), results.begin(), results.end());
  }

  void branch(std::uint64_t seed, std::uint64_t number, int depth, std::vector<Tile>& pool) {
    const auto body = [&](std::uint64_t own_seed) {
      std::vector<Tile> inner = pool;
      statements(own_seed, 4, depth - 1, inner);
      return std::vector<Tile>{machine_.reshape(inner.back(), {4, 6}),
                               machine_.reshape(inner[own_seed % inner.size()], {24})};
    };
    const auto results = machine_.choose(
        number % 2 == 0, [&] { return body(seed); }, [&] { return body(seed + 1); });
    pool.insert(pool.end(), results.begin(), results.end());
  }

  Machine& machine_;
};

std::vector<std::int32_t> random_integers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<std::int32_t>(random()));
  return numbers;
}

Bits to_bits(const std::vector<std::int32_t>& numbers) {
  Bits bits;
  for (const std::int32_t number : numbers) bits.push_back(from_integer(number, DType::kI32));
  return bits;
}

void check_random_program(std::uint64_t seed) {
  INFO("seed " << seed);
  const auto input = random_integers(24, seed);
  const auto memory = random_integers(kMemory, seed + 1);

  Interpreter interpreter;
  interpreter.memory = memory;
  std::vector<Interpreter::Tile> expected = {{{24}, input}, {{4, 6}, input}};
  Generator<Interpreter>(interpreter).statements(seed, 14, 2, expected);

  IrMachine machine;
  Value* pointer = machine.program.pointer(DType::kI32, {kMemory}, to_bits(memory));
  machine.memory = pointer->definition->operands[0];
  Value* x = machine.program.input(DType::kI32, {24}, to_bits(input));
  std::vector<IrMachine::Tile> pool = {{{24}, x}, {{4, 6}, machine.b.reshape(x, {4, 6})}};
  Generator<IrMachine>(machine).statements(seed, 14, 2, pool);
  REQUIRE(pool.size() == expected.size());
  std::vector<std::size_t> written;
  for (std::size_t i = seed % 3; i < pool.size(); i += 1 + seed % 4) {
    machine.output(pool[i]);
    written.push_back(i);
  }
  const std::vector<Bits> found = machine.program.run();
  for (std::size_t i = 0; i < written.size(); ++i) {
    INFO("tile " << written[i]);
    REQUIRE(found[i] == to_bits(expected[written[i]].elements));
  }
  REQUIRE(machine.program.tensor(0) == to_bits(interpreter.memory));
}

TEST_CASE("random programs give what an interpreter gives", "[cpu]") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) check_random_program(seed);
}

// Minutes: run by name, `cpu_tests "[fuzz]"`.
TEST_CASE("many random programs give what an interpreter gives", "[.][fuzz]") {
  for (std::uint64_t seed = 30; seed < 1000; ++seed) check_random_program(seed);
}

TEST_CASE("arena places don't overlap and are used again", "[cpu]") {
  std::mt19937_64 random(5);
  Arena arena;
  std::map<std::int64_t, std::int64_t> used;
  for (int step = 0; step < 2000; ++step) {
    if (!used.empty() && random() % 2 == 0) {
      const auto chosen = std::next(used.begin(), static_cast<long>(random() % used.size()));
      arena.release(chosen->first);
      used.erase(chosen);
      continue;
    }
    const auto size = static_cast<std::int64_t>(1 + random() % 500);
    const std::int64_t offset = arena.allocate(size);
    REQUIRE(offset % Arena::kAlignment == 0);
    REQUIRE(offset + size <= arena.num_bytes());
    for (const auto& [begin, bytes] : used) {
      REQUIRE((offset + size <= begin || begin + bytes <= offset));
    }
    used.emplace(offset, size);
  }
  CHECK(arena.num_bytes() < 100 * 512);
  CHECK_THROWS_AS(arena.release(1), InternalError);
}

}  // namespace
}  // namespace tilewire
