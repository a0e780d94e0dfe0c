#include "compiler/codegen/cpu/register.h"

#include "compiler/support/error.h"

namespace tilewire {
namespace {

CpuBackend& registered() {
  static CpuBackend backend;
  return backend;
}

}  // namespace

void register_cpu_backend(const CpuBackend& backend) { registered() = backend; }

bool has_cpu_backend() { return registered().emit_llvm != nullptr; }

const CpuBackend& cpu_backend() {
  if (!has_cpu_backend()) {
    throw BackendError(
        "the CPU target needs LLVM, and this build of tilewire has none: install LLVM 19 or newer "
        "with its headers (Debian and Ubuntu: llvm-19-dev) and build tilewire again");
  }
  return registered();
}

std::string emit_cpu_llvm(const Program& lowered, Artifact& artifact) {
  return cpu_backend().emit_llvm(lowered, artifact);
}

std::string emit_cpu_object(const Artifact& artifact) {
  return cpu_backend().compile_object(artifact);
}

}  // namespace tilewire
