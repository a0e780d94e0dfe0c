#include "compiler/support/error.h"
#include "runtime/nccl/capabilities.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: atomics at peers over PCIe") {
  Artifact artifact;
  artifact.kernel = "count";
  artifact.target = Target::parse("sm_90a:world=2");
  artifact.arguments = {{.kind = ArgumentSlot::Kind::kWindow}};
  artifact.resources.peer_atomics = true;
  std::vector<RankCapabilities> ranks(2);
  ranks[1][Feature::kAtomics] = {Ground::kNoNativeAtomics, 0};
  CHECK(
      message_of<UserError>(
          [&] { require_served(artifact, artifact.target, Capabilities(ranks)); }) ==
      "kernel `count` adds to memory that several GPUs change (tw.signal, tw.set, tw.add and "
      "tw.atomic_* where peers do so too), and these GPUs lack native atomics there: rank 1: none "
      "at rank 0's GPU, which is reached over PCIe. Stores, barriers and channels work without");
  artifact.resources.peer_atomics = false;
  CHECK_NOTHROW(require_served(artifact, artifact.target, Capabilities(ranks)));
  // A rank that reaches nobody by stores has nobody to share memory with.
  artifact.resources.peer_atomics = true;
  for (RankCapabilities& rank : ranks) rank[Feature::kAtomics] = {Ground::kNotNeeded};
  CHECK_NOTHROW(require_served(artifact, artifact.target, Capabilities(ranks)));
}

}  // namespace tilewire
