#include "compiler/codegen/cpu/codegen.h"

#include <mutex>

#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/codegen/cpu/llvm_object.h"
#include "compiler/jit/compile.h"

namespace tilewire {
namespace {

std::string emit(const Program& lowered, Artifact& artifact) {
  if (artifact.entry.empty()) artifact.entry = artifact.kernel;
  LlvmEmitter emitter(lowered, artifact);
  std::string text = emitter.run();
  artifact.arena_bytes = emitter.arena_bytes();
  return text;
}

}  // namespace

void enable_cpu_target() {
  static std::once_flag once;
  std::call_once(
      once, [] { register_cpu_codegen({llvm_version_and_processor(), emit, compile_llvm_text}); });
}

}  // namespace tilewire
