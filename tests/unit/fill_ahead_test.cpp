#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/codegen/cuda/common_ring.h"
#include "compiler/frontend/builder.h"
#include "compiler/ops/staging.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// acc += a[m, k] · b[n, k]ᵀ in a loop over K that an author wrote, with what `each` does besides;
/// lowered for a GPU without wgmma.
struct Product {
  std::int64_t rows = 128;
  std::int64_t columns = 128;
  std::int64_t depth = 32;
  DType dtype = DType::kBF16;
  std::string precision = "tf32";
  int alignment = 16;
  bool is_by_lines = false;  ///< a is [K, M], b is [K, N]
  bool is_window = false;    ///< b
  bool is_static = false;    ///< K is 96, else known at run time
  std::string target = "sm_80";
  /// In the loop, behind the loads: may take the left tile.
  std::function<void(Builder&, Value* c, Value* flag, Value* left, Value* k)> each;
  /// In front of the loop.
  std::function<void(Builder&, Value* flag)> before;
  /// What the left tile is loaded with.
  std::optional<Operand> other;

  Program lowered() const {
    const Target to = Target::parse(target + (is_window ? ":world=2" : ""));
    Builder b("product", "product.py", to);
    const auto extents = [&](const std::string& rows, const std::string& columns) {
      std::vector<Dimension> shape = {{kDynamic, rows}, {kDynamic, columns}};
      if (is_static) shape[is_by_lines ? 0 : 1] = {96, {}};
      return shape;
    };
    const auto of_a = is_by_lines ? extents("K", "M") : extents("M", "K");
    const auto of_b = is_by_lines ? extents("K", "N") : extents("N", "K");
    Value* a = b.tensor("a", dtype, of_a);
    Value* right = is_window ? b.window("b", dtype, of_b) : b.tensor("b", dtype, of_b);
    Value* c = b.tensor("c", DType::kF32, {{kDynamic, "R"}});
    Value* flag = is_window ? b.flag("ready", {{64, {}}}) : nullptr;
    if (before) before(b, flag);
    Builder::MatmulOptions options;
    options.precision = precision;

    options.transpose_a = is_by_lines;
    options.transpose_b = !is_by_lines;
    const auto block = [&](Value* view, std::int64_t lines, Value* k) {
      const Index along_depth = Index::ds(k, depth);
      const Index along_lines = Index::ds(std::int64_t{0}, lines);
      return b.slice(view, is_by_lines ? std::vector<Index>{along_depth, along_lines}
                                       : std::vector<Index>{along_lines, along_depth});
    };
    const Values sums = b.for_range(
        std::int64_t{0}, is_static ? Operand(std::int64_t{96}) : Operand(b.dimension("K")), depth,
        {b.zeros({rows, columns}, DType::kF32)},
        [&](Value* k, const Values& carried) -> std::vector<Operand> {
          Value* left = b.load(block(a, rows, k), other);
          Value* of_b = b.load(block(right, columns, k));
          if (each) each(b, c, flag, left, k);
          options.acc = carried[0];
          return {b.matmul(left, of_b, options)};
        });
    b.store(b.slice(c, {Index::ds(std::int64_t{0}, rows)}), b.reduce("sum", sums[0], 1));
    Program program = b.finish();
    const std::size_t count = program.parameters.size();
    program.facts.contiguous.assign(count, true);
    program.facts.alignment.assign(count, alignment);
    program.facts.local_only.assign(count, true);
    program.facts.mappable.assign(count, alignment == 16);
    return lower(std::move(program), to);
  }

  std::string text() const { return body_of(lowered()); }
  bool is_ahead() const { return has_product_ahead(lowered().body); }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Text between the first `from` and the next `to` behind it.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = text.find(to, begin);
  REQUIRE(end != std::string::npos);
  return text.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("operands are copied some iterations before they are multiplied") {
  const std::string text = Product().text();
  CHECK(!has(text, "tile_load"));
  CHECK(count_of(text, "copy_operand(") == 4);
  CHECK(count_of(text, "fill_slot()") == 2);
  CHECK(has(text, "tile<f32[128, 128], vector 2, fragment>"));
  // In front of the loop the first slots, as many as there are ahead.
  const std::string before = between(text, "begin_slots", "carry");
  CHECK(has(before, "for %i = range(%c0_1, %begin_slots, "));
  CHECK(count_of(before, "copy_operand(") == 2);
  CHECK(!has(before, "await_slot"));
  // In the loop: wait, fill the slot that is so many further on if there is such an iteration.
  const std::string body = between(text, "await_slot()", "= matmul(");
  CHECK(has(body, "add(%i_1, %mul)"));
  CHECK(has(body, "lt("));
  CHECK(body.find("if %lt") < body.find("copy_operand("));
  CHECK(body.find("fill_slot()") < body.find("staged_operand("));
  CHECK(has(between(text, "%mul = ", "\n"), "mul(%begin_slots, "));
  CHECK(has(between(text, "= matmul(", "\n"), "ahead = 1"));
}

TEST_CASE("warpgroups hold no more than 128 sums in a thread") {
  for (const auto& [rows, columns, threads] : {std::tuple(64, 64, 128),
                                               {128, 128, 128},
                                               {256, 128, 256},
                                               {128, 256, 256},
                                               {256, 256, 512}}) {
    CAPTURE(rows, columns);
    Product product;
    product.rows = rows;
    product.columns = columns;
    CHECK(product.lowered().num_threads == threads);
  }
}

TEST_CASE("operands are copied ahead where mma.sync multiplies what cp.async brings") {
  const auto is_ahead = [](const std::function<void(Product&)>& change) {
    Product product;
    change(product);
    return product.is_ahead();
  };
  for (const char* target : {"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120"}) {
    CAPTURE(target);
    CHECK(is_ahead([&](Product& p) { p.target = target; }));
  }
  CHECK(!is_ahead([](Product& p) { p.target = "sm_75"; }));
  CHECK(!is_ahead([](Product& p) { p.target = "cpu"; }));
  CHECK(is_ahead([](Product& p) { p.is_by_lines = true; }));
  CHECK(is_ahead([](Product& p) { p.dtype = DType::kF16; }));
  CHECK(is_ahead([](Product& p) { p.dtype = DType::kF32; }));
  CHECK(!is_ahead([](Product& p) {  // `ldmatrix` turns nothing so wide
    p.dtype = DType::kF32;
    p.is_by_lines = true;
  }));
  CHECK(!is_ahead([](Product& p) {
    p.dtype = DType::kF32;
    p.precision = "ieee";
  }));
  CHECK(!is_ahead([](Product& p) { p.dtype = DType::kE4M3; }));
  CHECK(is_ahead([](Product& p) {
    p.dtype = DType::kE4M3;
    p.target = "sm_89";
  }));
  for (const int alignment : {16, 8, 4, 2}) {
    CAPTURE(alignment);
    CHECK(is_ahead([&](Product& p) {
            p.is_static = true;
            p.alignment = alignment;
          }) == (alignment >= 4));
  }
  CHECK(!is_ahead([](Product& p) { p.alignment = 8; }));  // of a row, nothing is known
  CHECK(!is_ahead([](Product& p) { p.rows = 32; }));
  CHECK(!is_ahead([](Product& p) { p.columns = 40; }));
  CHECK(!is_ahead([](Product& p) { p.depth = 8; }));
  CHECK(!is_ahead([](Product& p) { p.rows = p.columns = 512; }));  // more sums than registers
  CHECK(!is_ahead([](Product& p) {                                 // no room for two slots
    p.target = "sm_89";
    p.depth = 128;
  }));
  CHECK(!is_ahead([](Product& p) { p.other = 1.0; }));
}

TEST_CASE("a load comes earlier only where nothing would know") {
  const auto is_ahead = [](const auto& each, bool is_window = false) {
    Product product;
    product.each = each;
    product.is_window = is_window;
    return product.is_ahead();
  };
  const auto tile = Index::ds(std::int64_t{0}, 128);
  // What the loop does besides: a report, a store to other memory.
  CHECK(!is_ahead([&](Builder& b, Value* c, Value*, Value*, Value*) {
    b.print("{}", {b.reduce("sum", b.load(b.slice(c, {tile})))});
  }));
  CHECK(is_ahead([&](Builder& b, Value* c, Value*, Value*, Value* k) {
    b.store(b.slice(c, {Index::ds(k, 128)}), b.load(b.slice(c, {tile})));
  }));
  // The tile is also read elsewhere.
  CHECK(!is_ahead([&](Builder& b, Value* c, Value*, Value* left, Value*) {
    b.store(b.slice(c, {tile}), b.reduce("sum", left, 1));
  }));
  // A wait guards the loads.
  CHECK(!is_ahead([](Builder& b, Value*, Value* flag, Value*,
                     Value*) { b.wait(b.slice(flag, {Index::at(std::int64_t{0})})); },
                  true));
  CHECK(!is_ahead([](Builder& b, Value*, Value*, Value*, Value*) { b.barrier(); }, true));
}

TEST_CASE("slots are filled behind a wait in front of the loop") {
  Product product;
  product.is_window = true;
  product.before = [](Builder& b, Value* flag) {
    b.wait(b.slice(flag, {Index::at(std::int64_t{0})}));
  };
  const std::string text = product.text();
  REQUIRE(has(text, "flag_wait("));
  REQUIRE(has(text, "copy_operand("));
  CHECK(text.find("flag_wait(") < text.find("begin_slots()"));
  CHECK(text.find("begin_slots()") < text.find("copy_operand("));
}

TEST_CASE("slots are as many as fit, beside as many CTAs as registers allow") {
  const auto plan = [](const std::string& target, std::int64_t depth) {
    Product product;
    product.target = target;
    product.depth = depth;
    return plan_common_ring(product.lowered(), Target::parse(target));
  };
  CHECK(plan("sm_80", 32).num_stages == 4);
  CHECK(plan("sm_80", 32).num_ctas == 2);
  CHECK(plan("sm_80", 32).slot_bytes == 16384);
  CHECK(plan("sm_80", 64).num_stages == 4);
  CHECK(plan("sm_80", 64).num_ctas == 1);  // two would have two slots each
  CHECK(plan("sm_90", 64).num_stages == 3);
  CHECK(plan("sm_90", 64).num_ctas == 2);
  CHECK(plan("sm_89", 32).num_stages == 3);
  CHECK(plan("sm_89", 32).num_ctas == 2);
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120"}) {
    const CommonRingPlan of_target = plan(target, 64);
    CHECK(of_target.num_stages >= 2);
    CHECK(of_target.num_bytes() <= max_shared_bytes(Target::parse(target).compute_capability));
  }
}

}  // namespace tilewire
