#include <string>

#include "compiler/frontend/builder.h"
#include "compiler/ops/put.h"
#include "compiler/ops/staging.h"
#include "compiler/ops/task.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

TEST_CASE("what tasks do, and what that depends on, stands in front of the rest") {
  const Target target = Target::parse("cpu");
  Builder b("p", "f.py", target);
  Value* x = b.tensor("x", DType::kF32, {{kDynamic, "N"}});
  Value* y = b.tensor("y", DType::kF32, {{kDynamic, "N"}});
  b.for_persistent(b.dimension("N"), {std::int64_t{0}}, [&](Value* i, const Values& sum) {
    const Index at = Index::ds(b.binary("mul", i, std::int64_t{8}), 8);
    b.task([&] { b.put(b.slice(y, {at}), b.slice(x, {at})); });
    b.store(b.slice(x, {Index::at(i)}), 1.0);
    return std::vector<Operand>{b.binary("add", sum[0], i)};
  });
  const Program program = split_tasks(b.finish());
  const std::string text = body_of(program);
  const std::size_t rest = text.find("\n} else {");
  REQUIRE(rest != std::string::npos);
  const std::string task = text.substr(0, rest);
  CHECK(task.starts_with("\n%in_task = in_task(): bool\nif %in_task {\n"));
  CHECK(count_of(task, "put(") == 1);
  CHECK(count_of(task, "for ") == 1);
  CHECK(count_of(task, "store(") == 0);
  CHECK(count_of(task, "add(") == 0);  // the sum is the rest's
  CHECK(count_of(task, "join_task()") == 1);
  CHECK(count_of(task, "return") == 1);
  const std::string others = text.substr(rest);
  CHECK(count_of(others, "put(") == 0);
  CHECK(count_of(others, "store(") == 1);

  CHECK(count_of(others, "= in_task()") == 0);
  CHECK(others.ends_with("join_task()\n"));
}

TEST_CASE("a program without tasks stays as it is") {
  const std::string text = body_of(split_tasks(program_of("", R"(
    %c = constant() {dtype = i64, value = 0}: i64
  )")));
  CHECK(text == "\n%c = constant() {dtype = i64, value = 0}: i64\n");
}

/// c = a · bᵀ, beside which a task copies x to y.
Program product_with_task(const char* architecture) {
  const Target target = Target::parse(architecture);
  Builder b("p", "f.py", target);
  const auto matrix = [&b](const char* name, const char* rows, const char* columns) {
    return b.tensor(name, DType::kBF16, {{kDynamic, rows}, {kDynamic, columns}});
  };
  Value* a = matrix("a", "M", "K");
  Value* right = matrix("b", "N", "K");
  Value* c = matrix("c", "M", "N");
  Value* x = b.tensor("x", DType::kBF16, {{kDynamic, "M"}});
  Value* y = b.tensor("y", DType::kBF16, {{kDynamic, "M"}});
  b.task([&] { b.put(y, x); });
  const TileGrid grid = b.tiles(b.dimension("M"), b.dimension("N"), 128, 256);
  b.for_persistent(grid.count, {}, [&](Value* i, const Values&) -> std::vector<Operand> {
    const Work t = b.tile(grid, i);
    Builder::MatmulOptions options;
    options.block_k = 64;
    options.transpose_b = true;
    Value* product =
        b.matmul(b.slice(a, {t.m, Index::all()}), b.slice(right, {t.n, Index::all()}), options);
    b.store(b.slice(c, {t.m, t.n}), product);
    return {};
  });
  Program program = b.finish();
  program.facts.contiguous.assign(5, true);
  program.facts.contiguous[3] = false;
  program.facts.alignment.assign(5, 16);
  program.facts.mappable.assign(5, true);
  return lower(std::move(program), target);
}

TEST_CASE("in kernels with roles a task is another warp of the producer's warpgroup") {
  const Program program = product_with_task("sm_90a");
  REQUIRE(has_roles(program));
  const std::string text = body_of(program);
  CHECK(text.find("if %is_producer") < text.find("if %in_task"));
  CHECK(count_of(text, "if %in_task") == 1);
  CHECK(count_of(text, "view_copy(") == 1);
  CHECK(text.find("view_copy(") < text.find("operand_load("));
}

TEST_CASE("elsewhere it is a warp behind the others") {
  const Program program = product_with_task("sm_100a");
  CHECK(!has_roles(program));
  REQUIRE(find_task(program) != nullptr);
  CHECK(has_view_copies(find_task(program)->regions[0]));
  CHECK(has_beside_task(program.body, "matmul"));
  CHECK(!has_beside_task(program.body, "view_copy"));
}

TEST_CASE("what the task has copied is not the rest's to drain or to release") {
  const Target target = Target::parse("sm_90a:world=2");
  Builder b("p", "f.py", target);
  Value* x = b.tensor("x", DType::kF32, {{kDynamic, "N"}});
  Value* w = b.window("w", DType::kF32, {{kDynamic, "N"}});
  Value* told = b.semaphore("told", {{4, {}}});
  const auto tell = [&](std::int64_t which) {
    b.signal(b.slice(b.at(told, std::int64_t{1}), {Index::at(which)}));
  };
  b.task([&] {
    b.put(b.at(w, std::int64_t{1}), x);
    tell(0);
    b.put(b.at(w, std::int64_t{1}), x);
  });
  tell(1);
  const std::string text = body_of(lower(b.finish(), target));
  const std::size_t rest = text.find("\n} else {");
  REQUIRE(rest != std::string::npos);
  CHECK(count_of(text.substr(0, rest), "drain_copies()") == 1);
  CHECK(count_of(text.substr(0, rest), "order = \"release\"") == 1);
  CHECK(count_of(text.substr(rest), "drain_copies()") == 0);
  CHECK(count_of(text.substr(rest), "order = \"relaxed\"") == 1);
}

TEST_CASE("the rest leaves the launch, when its task has ended") {
  const Target target = Target::parse("cpu:world=2");
  Builder b("p", "f.py", target);
  Value* ready = b.flag("ready", {{4, {}}});
  b.task([&] { b.set(b.slice(b.at(ready, std::int64_t{1}), {Index::at(std::int64_t{0})})); });
  b.wait(b.slice(ready, {Index::at(std::int64_t{0})}));
  const std::string text = body_of(lower(b.finish(), target));
  CHECK(count_of(text, "leave(") == 1);
  const std::size_t rest = text.find("\n} else {");
  CHECK(text.find("leave(") > rest);
  CHECK(text.find("join_task(", rest) < text.find("leave("));
  CHECK(count_of(text.substr(0, rest), "await_done(") == 1);  // before it sets a flag at a peer
}

}  // namespace
}  // namespace tilewire
