#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"
#include "compiler/jit/cache.h"

namespace tilewire {

/// A text that is about to become machine code.
struct CompileJob {
  CacheFormat format;
  /// Digest of everything that the binary depends on.
  std::string key;
  /// Makes the binary.
  std::function<std::string()> build;
  /// Makes the stage between text and binary (PTX); empty function where there is none.
  std::function<std::string()> build_middle;
};

/// What differs between GPUs and the CPU on the way from a lowered program to machine code.
struct Backend {
  std::string_view source_stage;  ///< `cuda`, `llvm`: names of stages in `emit_stage` and dumps
  std::string_view middle_stage;  ///< `ptx`; empty where there is none
  std::string_view binary_stage;  ///< `cubin`, `object`
  /// The artifact's text, deterministic. May complete the artifact.
  std::string (*emit)(const Program& lowered, Artifact& artifact);
  CompileJob (*job)(const Artifact& artifact);
  /// UserError where the installed libraries lack what the program needs; null: nothing to ask.
  void (*check)(const Program& lowered, const Target& target) = nullptr;

  static const Backend& of(const Target& target);
  /// `ir`, `lowered`, then the three above.
  std::vector<std::string_view> stages() const;
};

}  // namespace tilewire
