#pragma once

#include <memory>

#include "compiler/codegen/cpu/abi.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

/// A kernel's machine code, loaded into this process. Copies share it; it is unloaded with the last
/// one. Any number of threads may run it.
class CpuKernel {
 public:
  /// Links `artifact.binary` (object bytes) against the runtime functions. BackendError where the
  /// object doesn't link.
  explicit CpuKernel(Artifact artifact);

  /// For code that is in this process already.
  CpuKernel(Artifact artifact, CpuEntry entry);

  const Artifact& artifact() const { return *artifact_; }
  CpuEntry entry() const { return entry_; }

 private:
  std::shared_ptr<const Artifact> artifact_;
  std::shared_ptr<void> code_;  ///< keeps the machine code mapped
  CpuEntry entry_;
};

}  // namespace tilewire
