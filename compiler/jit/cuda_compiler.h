#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/jit/cache.h"
#include "compiler/jit/nccl_headers.h"
#include "compiler/jit/nvrtc.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// CUDA text that is to become machine code, with everything that it depends on.
struct CudaJob {
  std::string source;
  std::string name;          ///< as messages name the text: `allreduce_rmsnorm.cu`
  std::string architecture;  ///< `sm_90a`, or `compute_80` for PTX only
  std::vector<Header> headers;
  std::vector<std::string> options;

  /// Finds what `source` includes: tilewire's templates, stand-ins for standard headers, and, only
  /// where it includes <nccl_device.h>, NCCL's in the given form. Loads NVRTC. BackendError where
  /// one of them is missing.
  static CudaJob of(std::string source, std::string name, std::string architecture, NcclForm form);
  /// The same with these headers of NCCL's, whatever library is loaded.
  static CudaJob of(std::string source, std::string name, std::string architecture, NcclForm form,
                    const NcclHeaders& nccl);

  /// Content only: NVRTC's version, options, source, and names and texts of all headers.
  void add_to(CacheKey& key) const;
  /// BackendError with log, options and the saved source where it doesn't compile.
  NvrtcResult compile() const;
};

/// What kernels that use a target's network get of NCCL.
NcclForm network_form(const Target& target);

/// The disk cache in the folder that the environment names.
const DiskCache& disk_cache();

/// Machine code of a text that is no program's (probes, and kernels of the runtime's own), from the
/// disk cache where it has it.
std::string compile_cuda(const CudaJob& job);

/// Loads NVRTC and has it compile a small kernel for `architecture`, so that the process's first
/// real one doesn't wait for what NVRTC then reads from its 100 MB. Meant for a thread beside other
/// preparations. False where it doesn't compile: the first real compilation says why.
bool warm_up_nvrtc(const std::string& architecture) noexcept;

}  // namespace tilewire
