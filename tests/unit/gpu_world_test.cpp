#include "runtime/nccl/world.h"

#include <algorithm>
#include <cstring>

#include "compiler/support/error.h"
#include "runtime/nccl/agreement.h"
#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/nccl.h"
#include "tests/catch.h"

namespace tilewire {

TEST_CASE("a lane's parts don't overlap and serve the largest co-resident grid") {
  for (const int lsa_size : {1, 2, 3, 8, 72}) {
    CAPTURE(lsa_size);
    const LaneShape shape = LaneShape::of(132, 32, lsa_size);
    CHECK(shape.num_slots == 132 * 32);
    CHECK(shape.barrier_offset + 4ull * shape.num_slots * lsa_size <= shape.phase_offset);
    CHECK(shape.phase_offset % 128 == 0);
    CHECK(shape.phase_offset + 4ull * shape.num_slots <= shape.grid_offset);
    CHECK(shape.grid_offset % 128 == 0);
    CHECK(shape.grid_offset + 128ull * (lsa_size + 1) <= shape.launch_offset);
    CHECK(shape.num_slots < device::kGridPhase);
    CHECK(shape.launch_offset % 128 == 0);
    CHECK(shape.launch_offset + device::kLaunchLogOffset + 64ull * lsa_size == shape.num_bytes);
  }
}

TEST_CASE("a lane of a world with a network has words for its barriers, and staging memory") {
  for (const int world_size : {8, 9, 128, 1024}) {
    CAPTURE(world_size);
    const int lsa_size = world_size == 9 ? 3 : 4;
    const LaneNetwork network = {.world_size = world_size, .num_contexts = 4, .num_signals = 65536};
    const LaneShape near = LaneShape::of(132, 32, lsa_size);
    const LaneShape shape = LaneShape::of(132, 32, lsa_size, network);
    CHECK(shape.num_contexts == 4);
    CHECK(shape.network_slots == std::min<std::uint32_t>(132 * 32, 65536 / 4 / world_size));
    CHECK(shape.num_signals == std::uint64_t{shape.network_slots} * world_size);
    CHECK(shape.launch_offset == near.launch_offset);
    CHECK(shape.network_phase_offset >= near.num_bytes);
    CHECK(shape.network_phase_offset % 128 == 0);
    CHECK(shape.staging_offset >= shape.network_phase_offset + 4 * shape.num_signals);
    CHECK(shape.staging_offset % 128 == 0);
    CHECK(shape.num_bytes == shape.staging_offset + shape.staging_bytes);
    CHECK(near.staging_bytes == 0);
    CHECK(near.network_slots == 0);
  }
}

TEST_CASE("lanes have one number and one set of options each, and budgets fit the GPU") {
  std::vector<std::unique_ptr<LaneGroup>> lanes;
  const auto add = [&](int number, LaneOptions options) {
    check_budgets(lanes, number, options, 132);
    lanes.push_back(std::make_unique<LaneGroup>());
    lanes.back()->number = number;
    lanes.back()->options = options;
  };
  add(0, {});
  add(1, {.num_sms = 100});
  CHECK_THROWS_WITH(
      check_budgets(lanes, 2, {.num_sms = 33}, 132),
      "comm.lane(2): budgets of 133 multiprocessors together (33 of this lane, 100 of "
      "lane 1), a rank has 132: ask for at most 32");
  add(2, {.num_sms = 32});
  CHECK_NOTHROW(check_budgets(lanes, 3, {}, 132));
  CHECK_THROWS_AS(check_budgets(lanes, -1, {}, 132), UserError);
  CHECK_THROWS_AS(check_budgets(lanes, 3, {.num_sms = -1}, 132), UserError);

  Artifact artifact;
  artifact.kernel = "k";
  CHECK_NOTHROW(lanes[1]->check_budget(artifact, 100));
  CHECK_NOTHROW(lanes[0]->check_budget(artifact, 100000));
  CHECK_THROWS_WITH(lanes[1]->check_budget(artifact, 101),
                    "kernel `k`: a grid of 101 on lane 1, whose budget is 100 multiprocessors: use "
                    "tw.auto or a grid of at most 100");
  artifact.launch.cluster_size = 8;
  CHECK_THROWS_WITH(lanes[1]->check_budget(artifact, 104),
                    "kernel `k`: a grid of 104 on lane 1, whose budget is 100 multiprocessors: use "
                    "tw.auto or a grid of at most 96");
}

TEST_CASE("ranks that meet at different calls are told both") {
  CHECK_NOTHROW(require_same_call("comm.barrier", 1, "comm.barrier"));
  CHECK_THROWS_WITH(require_same_call("comm.lane(1, sms=16, exclusive=False)", 3,
                                      "comm.lane(1, sms=8, exclusive=False)"),
                    test::contains("ranks meet at different calls: rank 0 is in comm.lane(1, "
                                   "sms=16, exclusive=False), rank 3 in comm.lane(1, sms=8, "
                                   "exclusive=False)"));
}

TEST_CASE("a window's copies lie one stride apart, as far as loads reach") {
  // Ranks 4 to 7 of a larger world.
  const Window window(256,
                      {.flat_base = 0x1000, .stride = 1ull << 32, .first_rank = 4, .lsa_size = 4},
                      {device::WindowHandle{}});
  CHECK(window.address(4) == 0x1000);
  CHECK(window.address(7) == 0x1000 + (3ull << 32));
  CHECK(window.is_reachable(5));
  CHECK_FALSE(window.is_reachable(3));
  CHECK_THROWS_WITH(window.address(8),
                    "no load or store from this process reaches rank 8's copy of the window: it "
                    "reaches ranks 4 to 7");
}

TEST_CASE("NCCL versions that the runtime doesn't know are refused") {
  const auto require = [](int code) {
    nccl::require_known_version(NcclVersion::from_code(code), "/lib/libnccl.so.2");
  };
  CHECK(NcclVersion::from_code(22809).to_string() == "2.28.9");
  CHECK(NcclVersion::from_code(22809).to_code() == 22809);
  CHECK_NOTHROW(require(22809));
  CHECK_NOTHROW(require(22807));
  CHECK_NOTHROW(require(22902));
  CHECK_NOTHROW(require(23203));
  CHECK_THROWS_WITH(require(22803),
                    test::contains("NCCL 2.28.3 (/lib/libnccl.so.2) is too old: tilewire needs its "
                                   "device API as of 2.28.7\ninstall it with `pip install"));
  CHECK_THROWS_WITH(require(23300),
                    test::contains("NCCL 2.33.0 (/lib/libnccl.so.2) is newer than what this "
                                   "tilewire knows: 2.28.7 or newer, below 2.33.0\ninstall it with "
                                   "`pip install"));
}

namespace {

/// A layout unlike NCCL's own, so that a test that ignores it fails.
NcclLayout odd_layout() {
  NcclLayout layout;
  layout.device_comm_bytes = 64;
  layout.rank = 40;
  layout.num_ranks = 8;
  layout.lsa_rank = 16;
  layout.lsa_size = 60;
  layout.window_bytes = 48;
  layout.window_lsa_flat_base = 8;
  layout.window_lsa_rank = 0;
  layout.window_world_rank = 44;
  layout.window_stride_4g = 24;
  return layout;
}

template <typename Field>
Field at(const std::vector<std::byte>& bytes, std::size_t offset) {
  Field field;
  std::memcpy(&field, bytes.data() + offset, sizeof(field));
  return field;
}

RankFacts facts(const char* gpu, int num_sms) {
  RankFacts facts{};
  std::strcpy(facts.device_name, gpu);
  std::strcpy(facts.tilewire_version, "1.0");
  facts.nccl_version = 22809;
  facts.num_sms = num_sms;
  return facts;
}

}  // namespace

TEST_CASE("NCCL's structs are filled where their layout says") {
  const NcclLayout layout = odd_layout();
  const WindowFields fields{
      .flat_base = 0x700000000000, .stride_4g = 3, .lsa_rank = 2, .world_rank = 6};
  const std::vector<std::byte> window = make_window_struct(layout, fields);
  REQUIRE(window.size() == 48);
  CHECK(at<std::uint64_t>(window, 8) == 0x700000000000);
  CHECK(at<std::uint32_t>(window, 24) == 3);
  CHECK(at<std::int32_t>(window, 0) == 2);
  CHECK(at<std::int32_t>(window, 44) == 6);
  CHECK(read_window_struct(layout, window) == fields);

  const std::vector<std::byte> comm = make_device_comm(layout, 5, 8);
  REQUIRE(comm.size() == 64);
  CHECK(at<std::int32_t>(comm, 40) == 5);
  CHECK(at<std::int32_t>(comm, 8) == 8);
  CHECK(at<std::int32_t>(comm, 16) == 5);
  CHECK(at<std::int32_t>(comm, 60) == 8);
}

TEST_CASE("what NCCL gave is read where the layout says") {
  NcclLayout layout = odd_layout();
  std::vector<std::byte> comm(64);
  CHECK(gin_contexts_of(layout, comm) == 0);  // a version without the fields has none
  CHECK(multicast_address_of(layout, comm) == 0);
  layout.device_comm_fields = {{"ginContextCount", {3, 1}}, {"lsaMultimem", {48, 8}}};
  comm[3] = std::byte{4};
  comm[4] = std::byte{9};  // the next field
  comm[50] = std::byte{0x70};
  CHECK(gin_contexts_of(layout, comm) == 4);
  CHECK(multicast_address_of(layout, comm) == 0x700000);
}

TEST_CASE("a layout that points outside its struct is refused") {
  NcclLayout layout = odd_layout();
  layout.window_lsa_flat_base = 44;
  CHECK_THROWS_AS(make_window_struct(layout, {}), InternalError);
  CHECK_THROWS_AS(read_window_struct(layout, std::vector<std::byte>(48)), InternalError);
}

TEST_CASE("ranks on different GPUs are refused by name") {
  const std::vector<RankFacts> same = {facts("H200", 132), facts("H200", 132)};
  CHECK_NOTHROW(require_alike(same));
  const std::vector<RankFacts> other_gpu = {facts("H200", 132), facts("H200", 132),
                                            facts("H100", 132)};
  CHECK_THROWS_WITH(require_alike(other_gpu),
                    "ranks 0 and 2 can't run one kernel together: the GPU is H200 on rank 0 and "
                    "H100 on rank 2; all ranks of a communicator need the same");
  const std::vector<RankFacts> other_size = {facts("H200", 132), facts("H200", 66)};
  CHECK_THROWS_WITH(require_alike(other_size), test::contains("multiprocessors is 132 on rank 0"));
  std::vector<RankFacts> other_signals = same;
  other_signals[1].gin_signals = 1024;
  CHECK_THROWS_WITH(require_alike(other_signals),
                    test::contains("TILEWIRE_GIN_SIGNALS is 0 on rank 0 and 1024 on rank 1"));
  std::vector<RankFacts> other_nccl = same;
  other_nccl[1].nccl_version = 22807;
  CHECK_THROWS_WITH(require_alike(other_nccl),
                    test::contains("NCCL's version is 2.28.9 on rank 0 and 2.28.7 on rank 1"));
}

TEST_CASE("values that ranks must agree on") {
  const std::vector<RankValue> same = {{7, 1024}, {7, 1024}};
  CHECK_NOTHROW(require_equal("comm.window: the size", same));
  const std::vector<RankValue> sizes = {{7, 1024}, {7, 1024}, {7, 2048}};
  CHECK_THROWS_WITH(require_equal("comm.window: the size", sizes),
                    "comm.window: the size must be the same on all ranks: it is 1024 on rank 0 and "
                    "2048 on rank 2");
  CHECK(minimum_of("the grid of k", sizes) == 1024);
  const std::vector<RankValue> calls = {{7, 1}, {8, 1}};
  CHECK_THROWS_WITH(minimum_of("the grid of k", calls),
                    test::contains("the grid of k: rank 0 and rank 1 don't do the same"));
  CHECK_THROWS_AS(require_equal("comm.free", calls), UserError);
}

}  // namespace tilewire
