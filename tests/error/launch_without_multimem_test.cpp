#include "compiler/support/error.h"
#include "runtime/nccl/capabilities.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: multicast on a communicator without multimem") {
  Artifact artifact;
  artifact.kernel = "all_reduce";
  artifact.target = Target::parse("sm_90a:world=2,multimem=1");
  artifact.arguments = {{.kind = ArgumentSlot::Kind::kWindow}};
  std::vector<RankCapabilities> ranks(2);
  for (RankCapabilities& rank : ranks) rank[Feature::kMultimem] = {Ground::kSwitchedOff};
  const Target world = Target::parse("sm_90a:world=2");
  CHECK(message_of<UserError>([&] { require_served(artifact, world, Capabilities(ranks)); }) ==
        "kernel `all_reduce` was compiled for `sm_90a:world=2,lsa=2,multimem=1,gin=0`, but this "
        "communicator is `sm_90a:world=2,lsa=2,multimem=0,gin=0`: it has no multimem (off: "
        "NCCL_NVLS_ENABLE=0). Compile it for the communicator's target");
  // Virtual ranks on one GPU.
  for (RankCapabilities& rank : ranks) rank[Feature::kMultimem] = {Ground::kOneGpu};
  CHECK(message_of<UserError>([&] { require_served(artifact, world, Capabilities(ranks)); }) ==
        "kernel `all_reduce` was compiled for `sm_90a:world=2,lsa=2,multimem=1,gin=0`, but this "
        "communicator is `sm_90a:world=2,lsa=2,multimem=0,gin=0`: it has no multimem (virtual "
        "ranks share one GPU). Compile it for the communicator's target");
  // A kernel that takes nothing of the communicator's runs anywhere.
  artifact.arguments = {{.kind = ArgumentSlot::Kind::kTensor}};
  CHECK_NOTHROW(require_served(artifact, world, Capabilities(ranks)));
}

}  // namespace tilewire
