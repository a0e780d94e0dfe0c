#include "compiler/support/error.h"
#include "runtime/nccl/capabilities.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: GIN on a communicator without") {
  Artifact artifact;
  artifact.kernel = "exchange";
  artifact.target = Target::parse("sm_90a:world=4,lsa=2");
  artifact.arguments = {{.kind = ArgumentSlot::Kind::kDeviceComm}};
  std::vector<RankCapabilities> ranks(4);
  for (RankCapabilities& rank : ranks) rank[Feature::kNetwork] = {Ground::kOtherRank, 3};
  ranks[3].nccl_version = 22907;
  ranks[3][Feature::kNetwork] = {Ground::kNcclSaysNo};
  const Target world = Target::parse("sm_90a:world=4,lsa=2,gin=0");
  CHECK(message_of<UserError>([&] { require_served(artifact, world, Capabilities(ranks)); }) ==
        "kernel `exchange` was compiled for `sm_90a:world=4,lsa=2,multimem=0,gin=1`, but this "
        "communicator is `sm_90a:world=4,lsa=2,multimem=0,gin=0`: it has no GIN (rank 3: NCCL "
        "2.29.7 finds none (ncclCommQueryProperties): NCCL_DEBUG=INFO says why). Compile it for "
        "the communicator's target");
  artifact.target.gin = false;
  CHECK_NOTHROW(require_served(artifact, world, Capabilities(ranks)));
}

TEST_CASE("error: a kernel for NCCL's network on virtual ranks") {
  Artifact artifact;
  artifact.kernel = "exchange";
  artifact.target = Target::parse("sm_90a:world=4,lsa=2");
  artifact.arguments = {{.kind = ArgumentSlot::Kind::kDeviceComm}};
  const Capabilities has_all(std::vector<RankCapabilities>(4));
  const Target world = Target::parse("sm_90a:world=4,lsa=2,gin=virtual");
  CHECK(message_of<UserError>([&] { require_served(artifact, world, has_all); }) ==
        "kernel `exchange` was compiled for `sm_90a:world=4,lsa=2,multimem=0,gin=1`, but this "
        "communicator is `sm_90a:world=4,lsa=2,multimem=0,gin=virtual`: the network between "
        "virtual ranks isn't NCCL's. Compile it for the communicator's target");
}

}  // namespace tilewire
