#include <string>

#include "compiler/codegen/cuda/embedded_templates.h"
#include "tests/catch.h"
#include "tests/codegen/programs.h"

namespace tilewire {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t position_of(const std::string& text, const std::string& part) {
  const std::size_t position = text.find(part);
  INFO(text);
  INFO(part);
  REQUIRE(position != std::string::npos);
  return position;
}

}  // namespace

TEST_CASE("the acquire, then a meeting of the threads, then the first peer load") {
  for (const char* name : {"allreduce_rmsnorm_2", "allreduce_rmsnorm_8"}) {
    const std::string text = golden_program(name).cuda();
    const std::size_t barrier = position_of(text, "barrier.sync<tw::Order::kAcquire>(0);");
    const std::size_t meeting = text.find("__syncthreads();", barrier);
    CHECK(barrier < meeting);
    CHECK(meeting < position_of(text, "tw::load<"));
    const std::size_t last_barrier = position_of(text, "barrier.sync<tw::Order::kAcquire>(1);");
    // The threads meet inside the reduction, behind the last load; nobody waits for the stores.
    CHECK(text.rfind("tw::load<") < position_of(text, "tw::reduce<"));
    CHECK(position_of(text, "tw::store<") < last_barrier);
    CHECK(text.rfind("__syncthreads();") < position_of(text, "tw::load<"));
  }
}

TEST_CASE("the loads of all ranks, and the gain's, stand before the first sum") {
  const std::string text = golden_program("allreduce_rmsnorm_8").cuda();
  CHECK(text.rfind("tw::load<") < position_of(text, "tw::add("));
}

TEST_CASE("no mask where everything lies inside") {
  for (const char* name : {"allreduce_rmsnorm_1", "allreduce_rmsnorm_2", "allreduce_rmsnorm_8",
                           "allreduce_rmsnorm_odd"}) {
    const std::string text = golden_program(name).cuda();
    CHECK_FALSE(contains(text, "masked_dim"));
    CHECK_FALSE(contains(text, "access_if"));
  }
}

TEST_CASE("masks where the extent is known at run time only") {
  const std::string text = golden_program("masked").cuda();
  CHECK(contains(text, "tw::masked_dim<B>(1, start, N)"));
  CHECK(contains(golden_program("strided").cuda(), "tw::masked_dim<8>("));
  CHECK(contains(golden_program("branches").cuda(), "tw::access_if("));
}

TEST_CASE("16 bytes per load and store where rows are aligned, one element where they aren't") {
  const std::string text = golden_program("allreduce_rmsnorm_2").cuda();
  CHECK(contains(text, "tw::load<TileBF16_8192, 8>"));
  CHECK(contains(text, "tw::store<8>"));
  CHECK(contains(golden_program("loop").cuda(), "tw::load<TileF32_512, 4>"));
  CHECK(contains(golden_program("allreduce_rmsnorm_odd").cuda(), "tw::load<TileBF16_1003, 1>"));
  CHECK(contains(golden_program("strided").cuda(), "tw::load<TileF16_8x64, 1>"));
}

TEST_CASE("a world of one needs nothing of NCCL") {
  const std::string text = golden_program("allreduce_rmsnorm_1").cuda();
  CHECK_FALSE(contains(text, "nccl"));
  CHECK_FALSE(contains(text, "barrier"));
  CHECK_FALSE(contains(text, "tw::Lane"));
}

TEST_CASE("a stride that isn't known is an argument") {
  const std::string text = golden_program("strided").cuda();
  CHECK(contains(text, "int64_t x_stride_0, int64_t x_stride_1"));
  CHECK_FALSE(contains(text, "y_stride"));
}

TEST_CASE("text includes headers that are embedded, and only what it uses") {
  for (const GoldenProgram& program : golden_programs()) {
    INFO(program.name);
    const std::string text = program.cuda();
    const std::string head = "#include \"tilewire/";
    for (std::size_t at = text.find(head); at != std::string::npos; at = text.find(head, at + 1)) {
      const std::size_t begin = at + std::string("#include \"").size();
      const std::string name = text.substr(begin, text.find('"', begin) - begin);
      bool is_embedded = false;
      for (const EmbeddedFile& file : embedded_templates()) is_embedded |= file.name == name;
      INFO(name);
      CHECK(is_embedded);
    }
    CHECK(contains(text, "tilewire/reduce.cuh") == contains(text, "tw::reduce"));
    CHECK(contains(text, "tilewire/lsa_barrier.cuh") == contains(text, "barrier.sync"));
    CHECK(contains(text, "tilewire/cast.cuh") == contains(text, "tw::cast<"));
  }
}

TEST_CASE("text names no folder, and no line is longer than 100 columns") {
  for (const GoldenProgram& program : golden_programs()) {
    INFO(program.name);
    const std::string text = program.cuda();
    CHECK_FALSE(contains(text, TILEWIRE_SOURCE_DIR));
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = text.find('\n', start);
      INFO(text.substr(start, end - start));
      CHECK(end - start <= 100);
      start = end + 1;
    }
  }
}

TEST_CASE("window memory is never read through const or restrict") {
  for (const GoldenProgram& program : golden_programs()) {
    const std::string text = program.cuda();
    CHECK_FALSE(contains(text, "__restrict__"));
    CHECK_FALSE(contains(text, "const tw::bf16*"));
    CHECK_FALSE(contains(text, "__ldg"));
    CHECK_FALSE(contains(text, "Cache::kConstant"));  // none of them has a constant tensor
  }
  for (const EmbeddedFile& file : embedded_templates()) {
    INFO(file.name);
    CHECK(file.text.find("__restrict__") == std::string_view::npos);
    CHECK(file.text.find("ld.global.nc") == std::string_view::npos);
    // Constant tensors are read so, and nothing else: Cache::kConstant.
    const bool is_for_constants = file.name.ends_with("cache.cuh");
    CHECK((is_for_constants || file.text.find("__ldg") == std::string_view::npos));
  }
}

}  // namespace tilewire
