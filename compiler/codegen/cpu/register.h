#pragma once

#include <string>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

/// The CPU target's code generator. It needs LLVM, which `tilewire_compiler` doesn't link: the
/// library `tilewire_cpu_codegen` provides it through `enable_cpu_target()`.
struct CpuBackend {
  /// LLVM IR text of the lowered program. Sets `artifact.arena_bytes`.
  std::string (*emit_llvm)(const Program& lowered, Artifact& artifact) = nullptr;
  /// An object file for this machine's processor, from `artifact.source` (LLVM IR text).
  std::string (*compile_object)(const Artifact& artifact) = nullptr;
  /// The processor that `compile_object` compiles for, with its features: part of a cache key.
  std::string (*processor)() = nullptr;
  /// LLVM's version, `19.1.7`.
  std::string (*version)() = nullptr;
};

void register_cpu_backend(const CpuBackend& backend);

/// True where `cpu_backend()` would not throw.
bool has_cpu_backend();

/// BackendError that says how to get it, where this build has no LLVM.
const CpuBackend& cpu_backend();

/// LLVM IR text of the lowered program; sets `artifact.arena_bytes`.
std::string emit_cpu_llvm(const Program& lowered, Artifact& artifact);

/// Object bytes for this machine's processor, from `artifact.source`.
std::string emit_cpu_object(const Artifact& artifact);

}  // namespace tilewire
