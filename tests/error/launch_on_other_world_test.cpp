#include "compiler/support/error.h"
#include "runtime/nccl/capabilities.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a kernel of another world") {
  Artifact artifact;
  artifact.kernel = "all_reduce";
  artifact.target = Target::parse("sm_90a:world=4");
  artifact.arguments = {{.kind = ArgumentSlot::Kind::kLane}};
  const Target world = Target::parse("sm_90a:world=2");
  CHECK(message_of<UserError>([&] { require_served(artifact, world, Capabilities()); }) ==
        "kernel `all_reduce` was compiled for `sm_90a:world=4,lsa=4,multimem=0,gin=0`, but this "
        "communicator is `sm_90a:world=2,lsa=2,multimem=0,gin=0`: its ranks are others. Compile it "
        "for the communicator's target");
}

}  // namespace tilewire
