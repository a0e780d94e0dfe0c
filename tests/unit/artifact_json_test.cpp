#include <string>

#include "compiler/jit/artifact.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

Artifact full_artifact() {
  Artifact artifact;
  artifact.kernel = "größe";
  artifact.entry = "gr____e_kernel";
  artifact.source_file = "dir/file.py";
  artifact.target = Target::parse("sm_90a:world=4,lsa=2,multimem=1");
  artifact.source = "line one\n\"line\" two\\n\t\n";
  Parameter window;
  window.name = "x";
  window.kind = Parameter::Kind::kWindow;
  window.dtype = DType::kBF16;
  window.shape = {{kDynamic, "T"}, {8192, {}}};
  Parameter scalar;
  scalar.name = "eps";
  scalar.kind = Parameter::Kind::kScalar;
  artifact.parameters = {window, scalar};
  artifact.written = {true, false};
  artifact.dimensions = {"T", "U"};
  artifact.facts = {{true, false}, {16, 4}, {}, {false, true}};
  using Kind = ArgumentSlot::Kind;
  for (const Kind kind : {Kind::kTensor, Kind::kWindow, Kind::kScalar, Kind::kExtent, Kind::kStride,
                          Kind::kDeviceComm, Kind::kLane, Kind::kCounters, Kind::kTensorMap}) {
    artifact.arguments.push_back({kind, static_cast<int>(artifact.arguments.size()), 2});
  }
  artifact.tensor_maps = {{.parameter = 0,
                           .dtype = DType::kBF16,
                           .dimensions = {1, 0, TensorMapSpec::kLsaRank},
                           .box = {64, 128, 1},
                           .swizzle = TensorMapSpec::Swizzle::k128Bytes},
                          {.parameter = 1, .dimensions = {0}, .box = {256}}};
  artifact.wait_sites = {{{"dir/file.py", 3, 5}, "barrier(team=world)"}};
  artifact.launch = {512, 2, true, 1024, {{1, 1}, {0, 1}}, 7, 3};
  artifact.launch.arrivals = {
      {HostStep::Kind::kDimension, 1}, {HostStep::Kind::kNumber, -5}, {HostStep::Kind::kMaximum}};
  artifact.resources = {true, false, true, false, false, true, true, 512, true};
  artifact.protocol = {.name = "k(B=3)", .digest = 0xfedcba9876543210, .slots = {3, 5}};
  artifact.arena_bytes = std::int64_t{1} << 40;
  return artifact;
}

}  // namespace

TEST_CASE("an artifact's description survives JSON in every field but the binary") {
  const Artifact artifact = full_artifact();
  const Artifact read = artifact_from_json(to_json(artifact));
  CHECK(read.kernel == artifact.kernel);
  CHECK(read.entry == artifact.entry);
  CHECK(read.source_file == artifact.source_file);
  CHECK(read.target == artifact.target);
  CHECK(read.source == artifact.source);
  REQUIRE(read.parameters.size() == 2);
  CHECK(read.parameters[0].name == "x");
  CHECK(read.parameters[0].kind == Parameter::Kind::kWindow);
  CHECK(read.parameters[0].dtype == DType::kBF16);
  CHECK(read.parameters[0].shape == artifact.parameters[0].shape);
  CHECK(read.parameters[1].kind == Parameter::Kind::kScalar);
  CHECK(read.written == artifact.written);
  CHECK(read.dimensions == artifact.dimensions);
  CHECK(read.facts == artifact.facts);
  CHECK(read.arguments == artifact.arguments);
  CHECK(read.tensor_maps == artifact.tensor_maps);
  REQUIRE(read.wait_sites.size() == 1);
  CHECK(read.wait_sites[0].location == artifact.wait_sites[0].location);
  CHECK(read.wait_sites[0].what == artifact.wait_sites[0].what);
  CHECK(read.launch.num_threads == 512);
  CHECK(read.launch.cluster_size == 2);
  CHECK(read.launch.cooperative);
  CHECK(read.launch.dynamic_shared_bytes == 1024);
  CHECK(read.launch.useful_grid == std::vector<GridBound>{{1, 1}, {0, 1}});
  CHECK(read.launch.max_grid == 7);
  CHECK(read.launch.num_counters == 3);
  CHECK(read.launch.arrivals == artifact.launch.arrivals);
  CHECK(read.resources == artifact.resources);
  CHECK(read.protocol.name == artifact.protocol.name);
  CHECK(read.protocol.digest == artifact.protocol.digest);
  CHECK(read.protocol.slots == artifact.protocol.slots);
  CHECK(read.arena_bytes == artifact.arena_bytes);
  CHECK(to_json(read) == to_json(artifact));
}

TEST_CASE("a damaged description is an error, whatever is damaged") {
  const std::string text = to_json(full_artifact());
  for (std::size_t length = 0; length + 1 < text.size(); length += 7) {
    CHECK_THROWS_AS(artifact_from_json(text.substr(0, length)), BackendError);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == '"' ? '0' : '"';
    try {
      artifact_from_json(changed);
    } catch (const BackendError&) {  // another class of error, or a crash, would fail the test
    }
  }
}

TEST_CASE("a file name that is no UTF-8 doesn't stop a kernel from being cached") {
  Artifact artifact = full_artifact();
  artifact.source_file = "caf\xe9.py";
  CHECK(artifact_from_json(to_json(artifact)).kernel == artifact.kernel);
}

}  // namespace tilewire
