#include "compiler/codegen/cuda/emit.h"

#include "compiler/codegen/cuda/kernel_writer.h"

namespace tilewire {

std::string emit_cuda_source(const Program& lowered, const Artifact& description) {
  return KernelWriter(lowered, description).write();
}

}  // namespace tilewire
