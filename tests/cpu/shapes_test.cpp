#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

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

Shape index_of(std::int64_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; flat /= shape[i]) index[i] = flat % shape[i];
  return index;
}

std::size_t flat_of(const Shape& index, const Shape& shape) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
  return static_cast<std::size_t>(flat);
}

TEST_CASE("full and arange", "[cpu]") {
  for (const DType dtype : all_dtypes()) {
    TileProgram program;
    Value* one = program.builder.constant(true, DType::kBool);
    one = program.builder.emit("cast", {one}, {{"dtype", dtype}})->result();
    program.output(program.builder.emit("full", {one}, {{"shape", Shape{3, 5, 2}}})->result());
    const Bits found = program.run().front();
    REQUIRE(found.size() == 30);
    for (const std::uint64_t bits : found) CHECK(to_double(bits, dtype) == 1.0);
  }
  TileProgram program;
  program.output(
      program.builder
          .emit("arange", {}, {{"start", std::int64_t{-7}}, {"stop", std::int64_t{1000}}})
          ->result());
  const Bits found = program.run().front();
  for (std::size_t i = 0; i < 1007; ++i) {
    REQUIRE(to_integer(found[i], DType::kI32) == static_cast<__int128>(i) - 7);
  }
}

TEST_CASE("broadcast repeats extents of 1", "[cpu]") {
  std::mt19937_64 random(1);
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{1}, {77}}, {{5, 1}, {5, 33}}, {{1, 9}, {6, 9}}, {{1, 1}, {3, 4}}, {{3, 1, 7}, {3, 5, 7}}};
  for (const auto& [from, to] : cases) {
    const Bits elements =
        random_elements(DType::kBF16, static_cast<std::size_t>(product(from)), random);
    TileProgram program;
    Value* x = program.input(DType::kBF16, from, elements);
    program.output(program.builder.emit("broadcast", {x}, {{"shape", to}})->result());
    // Of a computed tile: it is computed once per element, before.
    Value* doubled = program.builder.emit("add", {x, x})->result();
    program.output(program.builder.emit("broadcast", {doubled}, {{"shape", to}})->result());
    const auto found = program.run();
    for (std::int64_t i = 0; i < product(to); ++i) {
      Shape index = index_of(i, to);
      for (std::size_t k = 0; k < from.size(); ++k) index[k] = from[k] == 1 ? 0 : index[k];
      const std::uint64_t bits = elements[flat_of(index, from)];
      REQUIRE(same_value(found[0][static_cast<std::size_t>(i)], bits, DType::kBF16));
      const double twice = 2 * to_double(bits, DType::kBF16);
      REQUIRE(same_value(found[1][static_cast<std::size_t>(i)], from_double(twice, DType::kBF16),
                         DType::kBF16));
    }
  }
}

TEST_CASE("reshape keeps row-major order", "[cpu]") {
  std::mt19937_64 random(2);
  for (const Shape& to : {Shape{60}, Shape{3, 20}, Shape{20, 3}, Shape{5, 2, 6}, Shape{1, 60}}) {
    const Bits elements = random_elements(DType::kI16, 60, random);
    TileProgram program;
    Value* x = program.input(DType::kI16, {4, 15}, elements);
    Value* y = program.builder.emit("reshape", {x}, {{"shape", to}})->result();
    program.output(y);
    program.output(program.builder.emit("neg", {y})->result());
    const auto found = program.run();
    CHECK(found[0] == elements);
    for (std::size_t i = 0; i < 60; ++i) {
      CHECK(found[1][i] == from_integer(-to_integer(elements[i], DType::kI16), DType::kI16));
    }
  }
}

TEST_CASE("extract gives one element, and 0 outside", "[cpu]") {
  std::mt19937_64 random(3);
  for (const DType dtype : all_dtypes()) {
    const Bits elements = random_elements(dtype, 35, random);
    for (const Shape& index : {Shape{0, 0}, Shape{4, 6}, Shape{2, 3}, Shape{-1, 0}, Shape{0, -1},
                               Shape{5, 0}, Shape{0, 7}, Shape{INT64_MAX, INT64_MIN}}) {
      TileProgram program;
      Value* x = program.input(dtype, {5, 7}, elements);
      Values operands = {x};
      for (const std::int64_t i : index) {
        // Read from memory, so that the index isn't known at compile time.
        operands.push_back(program.input(DType::kI64, {}, {static_cast<std::uint64_t>(i)}));
      }
      program.output(program.builder.emit("extract", operands)->result());
      const bool is_inside = index[0] >= 0 && index[0] < 5 && index[1] >= 0 && index[1] < 7;
      const std::uint64_t expected =
          is_inside ? elements[static_cast<std::size_t>(index[0] * 7 + index[1])] : 0;
      CHECK(same_value(program.run()[0][0], expected, dtype));
    }
  }
}

std::vector<std::optional<std::int64_t>> axes_of(const Shape& shape) {
  std::vector<std::optional<std::int64_t>> axes = {std::nullopt};
  for (std::size_t i = 0; i < shape.size(); ++i) axes.emplace_back(static_cast<std::int64_t>(i));
  return axes;
}

/// Calls `body(result, elements folded into it)`.
template <typename Body>
void visit_reduction(const Shape& shape, std::optional<std::int64_t> axis, const Body& body) {
  std::map<std::size_t, std::vector<std::size_t>> groups;
  for (std::int64_t i = 0; i < product(shape); ++i) {
    Shape index = index_of(i, shape);
    Shape rest = shape;
    if (axis) {
      index.erase(index.begin() + *axis);
      rest.erase(rest.begin() + *axis);
    }
    groups[axis ? flat_of(index, rest) : 0].push_back(static_cast<std::size_t>(i));
  }
  for (const auto& [result, elements] : groups) body(result, elements);
}

struct Reduction {
  std::string_view op;
  std::optional<std::int64_t> axis;
  DType result_dtype;
};

void check_reduction(const Reduction& reduction, DType dtype, const Shape& shape,
                     const Bits& elements, const Bits& found) {
  const auto& [op, axis, result_dtype] = reduction;
  INFO(op << " of " << name_of(dtype) << " " << shape_to_string(shape) << " along "
          << axis.value_or(-1));
  const bool is_sum = op == "sum";
  visit_reduction(
      shape, axis,
      [&, op = op, result_dtype = result_dtype](std::size_t place,
                                                const std::vector<std::size_t>& group) {
        if (!is_float(dtype)) {
          __int128 expected = to_integer(elements[group[0]], dtype);
          for (std::size_t i = 1; i < group.size(); ++i) {
            const __int128 value = to_integer(elements[group[i]], dtype);
            expected = is_sum        ? expected + value
                       : op == "max" ? std::max(expected, value)
                                     : std::min(expected, value);
          }
          REQUIRE(found[place] == from_integer(expected, result_dtype));
          return;
        }
        double expected = to_double(elements[group[0]], dtype);
        double magnitude = std::fabs(expected);
        for (std::size_t i = 1; i < group.size(); ++i) {
          const double value = to_double(elements[group[i]], dtype);
          magnitude += std::fabs(value);
          if (is_sum) {
            expected += value;
          } else if (std::isnan(expected) || std::isnan(value)) {
            expected = std::nan("");
          } else {
            expected = op == "max" ? std::max(expected, value) : std::min(expected, value);
          }
        }
        const double value = to_double(found[place], result_dtype);
        const double tolerance = is_sum ? magnitude * (dtype == DType::kF64 ? 1e-14 : 2e-6) : 0.0;
        const bool is_right = std::isnan(expected)   ? std::isnan(value)
                              : std::isinf(expected) ? value == expected
                                                     : std::fabs(value - expected) <= tolerance;
        INFO(value << " instead of " << expected);
        REQUIRE(is_right);
      });
}

/// All reductions of one tile, in one program.
void check_reductions(DType dtype, const Shape& shape, const std::vector<std::string_view>& ops,
                      const Bits& elements) {
  TileProgram program;
  Value* x = program.input(dtype, shape, elements);
  std::vector<Reduction> reductions;
  for (const std::string_view op : ops) {
    for (const auto axis : axes_of(shape)) {
      Attributes attributes;
      if (axis) attributes["axis"] = *axis;
      Value* result = program.builder.emit(op, {x}, attributes)->result();
      program.output(result);
      reductions.push_back({op, axis, result->type.dtype});
    }
  }
  const std::vector<Bits> found = program.run();
  for (std::size_t i = 0; i < found.size(); ++i) {
    check_reduction(reductions[i], dtype, shape, elements, found[i]);
  }
}

TEST_CASE("sum, max and min along each axis and of all", "[cpu]") {
  std::mt19937_64 random(4);
  for (const DType dtype : all_dtypes()) {
    if (is_float(dtype) && num_bytes(dtype) == 1) continue;
    for (const Shape& shape : {Shape{1}, Shape{333}, Shape{7, 45}, Shape{3, 5, 17}}) {
      const auto count = static_cast<std::size_t>(product(shape));
      check_reductions(dtype, shape, {"sum"}, moderate_elements(dtype, count, random));
      if (dtype == DType::kBool) continue;
      check_reductions(dtype, shape, {"max", "min"}, random_elements(dtype, count, random));
    }
  }
}

}  // namespace
}  // namespace tilewire
