#include "compiler/frontend/builder.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// The first example of the design: barrier, the sum over ranks of a row, its norm, barrier.
Program all_reduce_rms_norm(const Target& target, std::int64_t hidden) {
  Builder b("allreduce_rmsnorm", "01_allreduce_rmsnorm.py", target);
  Value* x = b.window("x", DType::kBF16, {{kDynamic, "T"}, {hidden, {}}});
  Value* gain = b.tensor("gain", DType::kF32, {{hidden, {}}});
  Value* y = b.tensor("y", DType::kBF16, {{kDynamic, "T"}, {hidden, {}}});
  Value* eps = b.scalar("eps", DType::kF32);
  b.set_location(3, 5);
  b.barrier();
  b.set_location(4, 5);
  b.for_persistent(b.dimension("T"), {}, [&](Value* row, const Values&) -> std::vector<Operand> {
    b.name(row, "row");
    Value* acc = b.name(b.zeros({hidden}, DType::kF32), "acc");
    const Values sums = b.for_ranks({acc}, [&](Value* r, const Values& carried) {
      b.name(r, "r");
      Value* part = b.load(b.slice(b.at(x, r), {Index::at(row), Index::all()}));
      return std::vector<Operand>{b.binary("add", carried[0], part)};
    });
    Value* squares = b.reduce("sum", b.binary("mul", sums[0], sums[0]));
    Value* scale =
        b.name(b.unary("rsqrt", b.binary("add", b.binary("div", squares, hidden), eps)), "scale");
    Value* scaled = b.binary("mul", b.binary("mul", sums[0], scale), b.load(b.slice(gain, {})));
    b.store(b.slice(y, {Index::at(row), Index::all()}), scaled);
    return {};
  });
  b.set_location(12, 5);
  b.barrier();
  Program program = b.finish();
  program.facts.contiguous = {true, true, true, false};
  program.facts.alignment = {16, 16, 16, 4};
  return program;
}

}  // namespace

TEST_CASE("the first example on two ranks that reach each other") {
  const Target target = Target::parse("sm_90a:world=2");
  const Program program = lower(all_reduce_rms_norm(target, 8192), target);
  const std::string text = body_of(program);
  CHECK(program.num_threads == 512);
  CHECK(program.useful_grid == std::vector<GridBound>{{0, 1}});
  CHECK(count_of(text, "lsa_barrier()") == 2);
  CHECK(count_of(text, "{peer = true}") == 2);
  CHECK(count_of(text, "masked = [0]") == 4);
  CHECK(count_of(text, "predicated") == 0);
  CHECK(count_of(text, "mul(%row, %c8192)") == 1);
  CHECK(count_of(text, "[8192], vector 8>") == 11);
  CHECK(count_of(text, "tile<f32[8192], vector 4>") == 0);
  CHECK(text.find("for %row = range(%program_id, %T, %num_programs) {") != std::string::npos);
}

TEST_CASE("the first example in a world of one communicates with nobody") {
  const Target target = Target::parse("sm_90a");
  const Program program = lower(all_reduce_rms_norm(target, 8192), target);
  const std::string text = body_of(program);
  CHECK(count_of(text, "barrier") == 0);
  CHECK(count_of(text, "peer") == 0);
  const Artifact artifact = describe(program, target);
  CHECK_FALSE(artifact.resources.lane);
  CHECK_FALSE(artifact.launch.cooperative);
  CHECK(artifact.wait_sites.empty());
  CHECK(artifact.arguments.size() == 5);
}

TEST_CASE("lowering gives the same text every time, and shows each pass") {
  const Target target = Target::parse("cpu:world=4");
  std::string passes;
  const std::string first =
      print(lower(all_reduce_rms_norm(target, 1000), target,
                  [&passes](std::string_view pass, const Program& program) {
                    passes += std::string(pass) + " ";
                    CHECK(print(parse_program(print(program))) == print(program));
                  }));
  CHECK(passes ==
        "specialise choose_inline canonicalise split_tasks choose_multimem check_ranks "
        "legalise_communication "
        "insert_launch_states lower_stacks stage_products lower_views canonicalise elide_releases "
        "drain_copies fill_ahead infer_layouts fence_aliases hoist_invariants keep_channel_counts "
        "share_operands place_waits split_roles split_mover mark_kept ");
  CHECK(print(lower(all_reduce_rms_norm(target, 1000), target)) == first);
}

TEST_CASE("what the artifact says of a kernel that communicates") {
  const Target target = Target::parse("sm_90a:world=2");
  Program program = all_reduce_rms_norm(target, 8192);
  program.facts.contiguous[2] = false;
  const Artifact artifact = describe(lower(std::move(program), target), target);
  CHECK(artifact.kernel == "allreduce_rmsnorm");
  CHECK(artifact.entry == "allreduce_rmsnorm_kernel");
  CHECK(artifact.dimensions == std::vector<std::string>{"T"});
  using Kind = ArgumentSlot::Kind;
  CHECK(artifact.written == std::vector<bool>{false, false, true, false});
  const std::vector<ArgumentSlot> expected = {
      {Kind::kWindow, 0, 0}, {Kind::kTensor, 1, 0}, {Kind::kTensor, 2, 0}, {Kind::kScalar, 3, 0},
      {Kind::kStride, 2, 0}, {Kind::kStride, 2, 1}, {Kind::kExtent, 0, 0}, {Kind::kLane, 0, 0}};
  CHECK(artifact.arguments == expected);
  REQUIRE(artifact.wait_sites.size() == 2);
  CHECK(artifact.wait_sites[0].location.line == 3);
  CHECK(artifact.wait_sites[1].location.line == 12);
  CHECK(artifact.wait_sites[0].what == "barrier(team=world)");
  CHECK(artifact.resources.lane);
  CHECK(artifact.resources.two_sided);
  CHECK(artifact.launch.cooperative);
  CHECK(artifact.launch.num_threads == 512);
  CHECK(artifact.launch.useful_grid == std::vector<GridBound>{{0, 1}});
}

}  // namespace tilewire
