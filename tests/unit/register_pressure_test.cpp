#include "compiler/codegen/cuda/register_pressure.h"

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// A program of 512 threads over x of 8192 bf16: `%p` points there, `%tile` is all of it, 8 words
/// of each thread; `%wide` is the same in f32, 16 words.
Program program_with(const std::string& statements) {
  Program program = program_of("  tensor %x: bf16[8192]\n  scalar %s: f32", R"(
%c0 = constant() {dtype = i64, value = 0}: i64
%p = address(%x, %c0): pointer<bf16>
%tile = tile_load(%p) {masked = [0], shape = [8192], strides = [1], vector = 8}: tile<bf16[8192], vector 8>
%wide = cast(%tile) {dtype = f32}: tile<f32[8192], vector 8>
)" + statements);
  program.num_threads = 512;
  return program;
}

const std::string kStore =
    "tile_store(%p, %back) {masked = [0], shape = [8192], strides = [1], vector = 8}\n";

}  // namespace

TEST_CASE("element-wise results that no other op meets take no registers") {
  CHECK(tile_registers(program_with("%back = cast(%wide) {dtype = bf16}: tile<bf16[8192], vector "
                                    "8>\n" +
                                    kStore)) == 8);
}

TEST_CASE("tiles count where a reduction stands between their definition and their use") {
  const Program program = program_with(
      "%sum = sum(%wide): f32\n"
      "%scaled = mul(%wide, %sum): tile<f32[8192], vector 8>\n"
      "%back = cast(%scaled) {dtype = bf16}: tile<bf16[8192], vector 8>\n" +
      kStore);
  CHECK(tile_registers(program) == 16);
  CHECK(resident_ctas(program, 2048) == 4);
  CHECK(resident_ctas(program, 1536) == 3);
}

TEST_CASE("slices count what each thread holds") {
  Program program = program_of("  scalar %s: f32",
                               "%a = full(%s) {shape = [64]}: tile<f32[64], vector 1, per_row 8>\n"
                               "%b = exp(%a): tile<f32[64], vector 1, per_row 8>\n"
                               "%c = sum(%a): f32\n"
                               "%d = mul(%b, %c): tile<f32[64], vector 1, per_row 8>\n");
  program.num_threads = 128;
  CHECK(tile_registers(program) == 4);  // 64 rows over 16 groups
}

TEST_CASE("slices of products count what each thread holds") {
  const auto registers = [](const std::string& layout) {
    const std::string type = ": tile<f32[64], " + layout + ">\n";
    Program program = program_of("  scalar %s: f32", "%a = full(%s) {shape = [64]}" + type +
                                                         "%b = exp(%a)" + type +
                                                         "%c = sum(%a): f32\n"
                                                         "%d = mul(%b, %c)" +
                                                         type);
    program.num_threads = 128;
    return tile_registers(program);
  };
  CHECK(registers("vector 1, fragment_per_row") == 2);
  CHECK(registers("vector 2, fragment_per_column") == 16);
}

TEST_CASE("templates with registers of their own get all that there are") {
  Program program = program_with("%up = cumsum(%wide) {axis = 0}: tile<f32[8192], vector 8>\n");
  CHECK(resident_ctas(program, 2048) == 1);
}

}  // namespace tilewire
