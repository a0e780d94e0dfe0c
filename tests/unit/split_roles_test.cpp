#include <string>
#include <tuple>
#include <utility>

#include "compiler/frontend/builder.h"
#include "compiler/ops/staging.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// c = a · bᵀ in tiles, with what `each` does for a tile besides; lowered for a GPU with wgmma.
struct Gemm {
  std::int64_t rows = 128;
  std::int64_t columns = 256;
  DType dtype = DType::kBF16;
  bool is_mappable = true;
  bool is_window = false;
  bool waits = false;  ///< for a flag, before each tile
  std::int64_t cluster = 1;
  bool is_by_lines = false;  ///< a is [K, M]
  std::int64_t split = 0;    ///< parts of M
  std::string target = "sm_90a:world=2";

  Program lowered() const {
    const Target to = Target::parse(target);
    Builder b("gemm", "gemm.py", to);
    const auto extents = [](const char* rows, const char* columns) {
      return std::vector<Dimension>{{kDynamic, rows}, {kDynamic, columns}};
    };
    const auto of_a = is_by_lines ? extents("K", "M") : extents("M", "K");
    Value* a = is_window ? b.window("a", dtype, of_a) : b.tensor("a", dtype, of_a);
    Value* right = b.tensor("b", dtype, extents("N", "K"));
    Value* c = b.tensor("c", DType::kBF16, extents("M", "N"));
    Value* ready = waits ? b.flag("ready", {{64, {}}}) : nullptr;
    TileOrder order;
    order.order = "grouped";
    order.cluster = cluster;
    if (split > 0) order.split = split;
    const TileGrid grid = b.tiles(b.dimension("M"), b.dimension("N"), rows, columns, order);
    b.for_persistent(grid.count, {}, [&](Value* i, const Values&) -> std::vector<Operand> {
      const Work t = b.tile(grid, i);
      if (t.exists != nullptr) b.begin_if(t.exists);
      if (waits) b.wait(b.slice(ready, {Index::at(t.part)}));
      Builder::MatmulOptions options;
      options.block_k = 128 / num_bytes(dtype);
      options.transpose_a = is_by_lines;
      options.transpose_b = true;
      Value* product =
          b.matmul(is_by_lines ? b.slice(a, {Index::all(), t.m}) : b.slice(a, {t.m, Index::all()}),
                   b.slice(right, {t.n, Index::all()}), options);
      b.store(b.slice(c, {t.m, t.n}), product);
      if (t.exists != nullptr) {
        b.begin_else({});
        b.end_if({});
      }
      return {};
    });
    Program program = b.finish();
    const std::size_t count = program.parameters.size();
    program.facts.contiguous.assign(count, true);
    program.facts.alignment.assign(count, 16);
    program.facts.local_only.assign(count, true);
    program.facts.local_only[0] = !is_window;
    program.facts.mappable.assign(count, is_mappable);
    return lower(std::move(program), to);
  }

  std::string text() const { return body_of(lowered()); }
};

/// The text of the producer's branch, then of the consumers'.
std::pair<std::string, std::string> roles(const std::string& text) {
  const std::size_t split = text.find("if %is_producer");
  REQUIRE(split != std::string::npos);
  const std::size_t consumers = text.find("\n} else {", split);
  return {text.substr(split, consumers - split), text.substr(consumers)};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the producer brings operands, the consumers multiply and store") {
  const auto [producer, consumers] = roles(Gemm().text());
  CHECK(count_of(producer, "operand_load(%a, ") == 1);
  CHECK(count_of(producer, "operand_load(%b, ") == 1);
  CHECK(count_of(producer, "for ") == 2);
  for (const char* left : {"matmul", "full", "cast", "store", "carry"}) {
    CAPTURE(left);
    CHECK(!has(producer, left));
  }
  CHECK(!has(consumers, "operand_load"));
  CHECK(count_of(consumers, "staged_operand()") == 2);
  CHECK(count_of(consumers, "= matmul(") == 1);
  CHECK(has(consumers, "tile<f32[128, 256], vector 2, fragment>"));
  CHECK(count_of(consumers, "tile_store(") == 1);
}

TEST_CASE("a product is finished behind the loop that sums it up") {
  const std::string consumers = roles(Gemm().text()).second;
  const std::size_t loop_ends = consumers.find("yield %matmul");
  const std::size_t finish = consumers.find("finish_product");
  REQUIRE(loop_ends != std::string::npos);
  CHECK(loop_ends < finish);
  CHECK(finish < consumers.find("cast("));
}

TEST_CASE("warpgroups for the rows of a product") {
  for (const auto& [rows, columns, threads] :
       {std::tuple(64, 64, 128), {128, 128, 256}, {192, 128, 384}, {256, 128, 256}}) {
    CAPTURE(rows);
    Gemm gemm;
    gemm.rows = rows;
    gemm.columns = columns;
    CHECK(gemm.lowered().num_threads == threads);
  }
}

TEST_CASE("roles are split where TMA and wgmma do the work") {
  const auto is_split = [](const Gemm& gemm) { return has_roles(gemm.lowered()); };
  Gemm gemm;
  CHECK(is_split(gemm));
  gemm.dtype = DType::kE4M3;
  CHECK(is_split(gemm));
  gemm.dtype = DType::kF64;
  CHECK(!is_split(gemm));
  gemm = {};
  gemm.is_mappable = false;
  CHECK(!is_split(gemm));
  gemm = {};
  gemm.is_by_lines = true;
  CHECK(is_split(gemm));
  gemm.split = 3;  // a part may begin where no box does: at no multiple of 16 bytes
  CHECK(!is_split(gemm));
  gemm.is_by_lines = false;
  CHECK(is_split(gemm));
  gemm = {};
  gemm.rows = 40;  // no whole instruction
  CHECK(!is_split(gemm));
  gemm = {};
  gemm.rows = 256;  // more accumulators than registers
  CHECK(!is_split(gemm));
  for (const char* target : {"sm_80", "sm_100a", "cpu"}) {
    CAPTURE(target);
    gemm = {};
    gemm.target = target;
    CHECK(!is_split(gemm));
  }
}

TEST_CASE("a flag that is waited for before each tile is the producer's") {
  Gemm gemm;
  gemm.waits = true;
  for (const bool is_window : {false, true}) {
    gemm.is_window = is_window;
    const auto [producer, consumers] = roles(gemm.text());
    CHECK(producer.find("flag_wait") < producer.find("operand_load"));
    CHECK(count_of(producer, "producer = true") == 1);
    CHECK(count_of(producer, "once = true") == 1);
    // They learn from the ring, unless nothing is multiplied.
    CHECK(count_of(consumers, "flag_wait") == 1);
    CHECK(has(consumers, "le(%K, "));
    CHECK(!has(consumers, "hand_over"));
  }
}

TEST_CASE("a cluster brings its common operand once") {
  Gemm gemm;
  gemm.cluster = 2;
  const Program program = gemm.lowered();
  CHECK(program.cluster_size == 2);
  CHECK(describe(program, Target::parse(gemm.target)).launch.cluster_size == 2);
  const auto [producer, consumers] = roles(body_of(program));
  // Whoever has no tile loads its part all the same, and lets the slots go by.
  CHECK(count_of(producer, "operand_load(%b, ") == 2);
  CHECK(count_of(producer, "shared = true") == 2);
  CHECK(count_of(producer, "skip_product") == 0);
  CHECK(count_of(consumers, "= matmul(") == 1);
  CHECK(count_of(consumers, "skip_product(") == 1);
  CHECK(consumers.find("} else {", 10) < consumers.find("skip_product("));
}

TEST_CASE("instances are launched one by one where nothing is shared") {
  Gemm gemm;
  gemm.cluster = 2;
  gemm.target = "sm_80";
  CHECK(gemm.lowered().cluster_size == 1);
  gemm.target = "sm_90a";
  gemm.is_mappable = false;
  CHECK(gemm.lowered().cluster_size == 1);
  gemm.is_mappable = true;
  gemm.columns = 8;  // no two parts of whole swizzles
  CHECK(gemm.lowered().cluster_size == 1);
}

}  // namespace tilewire
