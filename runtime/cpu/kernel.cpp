#include "runtime/cpu/kernel.h"

#include <utility>

#include "compiler/support/error.h"
#include "runtime/cpu/object_loader.h"

namespace tilewire {

CpuKernel::CpuKernel(Artifact artifact)
    : artifact_(std::make_shared<const Artifact>(std::move(artifact))) {
  if (artifact_->binary.empty()) {
    throw InternalError("the artifact of `" + artifact_->kernel + "` has no object code");
  }
  LoadedObject object = load_object(artifact_->binary, artifact_->entry, artifact_->kernel);
  code_ = std::move(object.code);
  entry_ = reinterpret_cast<CpuEntry>(object.entry);
}

CpuKernel::CpuKernel(Artifact artifact, CpuEntry entry)
    : artifact_(std::make_shared<const Artifact>(std::move(artifact))), entry_(entry) {}

}  // namespace tilewire
