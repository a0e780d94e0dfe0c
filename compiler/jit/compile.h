#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// How an artifact came to be.
struct CompileReport {
  double lower_ms = 0.0;    ///< passes, description and text
  double compile_ms = 0.0;  ///< NVRTC or LLVM; 0 where the binary came from a cache
  bool from_memory = false;
  bool from_disk = false;
  std::string source_path;  ///< the generated text on disk; empty where the cache can't be written
  std::string key;          ///< SHA-256 over everything that the binary depends on, in hex
};

/// Program → artifact with a binary: lower → describe → emit text → key → memory → disk → compile
/// → publish. Thread-safe. UserError where the program asks for what the target hasn't got;
/// BackendError where NVRTC or NCCL's headers are missing or refuse, with log and saved source.
Artifact compile(Program program, const Target& target, CompileReport* report = nullptr);

/// One stage of the way, as text (`cubin` and `object` as bytes): `ir`, `lowered`, then `cuda`,
/// `ptx`, `cubin` for GPUs and `llvm`, `object` for the CPU. UserError names the stages of the
/// target where it has none of that name.
std::string emit_stage(Program program, const Target& target, std::string_view stage);

/// What makes machine code for this CPU out of a lowered program. `tilewire_cpu_codegen` registers
/// one, so that this library links no LLVM.
struct CpuCodegen {
  /// Everything beside the text that the object depends on: LLVM's version, the host's features.
  std::string version;
  /// LLVM IR text. May complete the artifact (`entry`, `arena_bytes`).
  std::function<std::string(const Program& lowered, Artifact& artifact)> emit;
  /// LLVM IR text → object file. Called from several threads.
  std::function<std::string(const std::string& text)> compile;
};
void register_cpu_codegen(CpuCodegen codegen);
/// Null where none is registered.
const CpuCodegen* cpu_codegen();

}  // namespace tilewire
