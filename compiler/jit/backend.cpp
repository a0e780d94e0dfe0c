#include "compiler/jit/backend.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/codegen/cuda/emit.h"
#include "compiler/jit/compile.h"
#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Raised whenever the same inputs should no longer find older binaries.
constexpr std::string_view kSchema = "kernel 3";

CacheKey begin_key(const Artifact& artifact) {
  CacheKey key;
  key.add("schema", kSchema);
  key.add("target", artifact.target.to_string());
  key.add("entry", artifact.entry);
  return key;
}

void check_architecture(const Target& target) {
  const Nvrtc& nvrtc = Nvrtc::get();
  const auto known = nvrtc.architectures();
  if (std::find(known.begin(), known.end(), target.compute_capability) != known.end()) return;
  throw UserError(fmt::format("target {}: NVRTC {} ({}) doesn't compile for {}; it knows sm_{}",
                              target.to_string(), nvrtc.version(), nvrtc.path().string(),
                              target.architecture, fmt::join(known, ", sm_")));
}

std::string emit_cuda(const Program& lowered, Artifact& artifact) {
  return emit_cuda_source(lowered, artifact);
}

CompileJob cuda_job(const Artifact& artifact) {
  check_architecture(artifact.target);
  const NcclForm form =
      artifact.resources.network ? network_form(artifact.target) : NcclForm::kSlim;
  const auto job = std::make_shared<const CudaJob>(
      CudaJob::of(artifact.source, artifact.kernel + ".cu", artifact.target.architecture, form));
  CacheKey key = begin_key(artifact);
  job->add_to(key);
  return {.format = kCubinFormat,
          .key = key.hex(),
          .build = [job] { return job->compile().cubin; },
          .build_middle = [job] { return job->compile().ptx; }};
}

/// The headers decide, before NVRTC would fail on them.
void check_network(const Program& lowered, const Target& target) {
  if (network_form(target) == NcclForm::kVirtual) return;
  for_each_statement(lowered.body, [](const Statement& statement) {
    if (!statement.is("network_get")) return;
    require_network_get(*NcclHeaders::find(), statement.location);
  });
}

struct CpuRegistration {
  std::mutex mutex;
  std::shared_ptr<const CpuCodegen> codegen;
};

CpuRegistration& cpu_registration() {
  static CpuRegistration registration;
  return registration;
}

const CpuCodegen& require_cpu_codegen() {
  const CpuCodegen* codegen = cpu_codegen();
  if (codegen == nullptr) {
    throw BackendError(
        "the CPU target needs LLVM, which this build of tilewire lacks: build it with LLVM 19 or "
        "newer (`-DTILEWIRE_LLVM=ON`)");
  }
  return *codegen;
}

std::string emit_llvm(const Program& lowered, Artifact& artifact) {
  return require_cpu_codegen().emit(lowered, artifact);
}

CompileJob cpu_job(const Artifact& artifact) {
  const CpuCodegen& codegen = require_cpu_codegen();
  CacheKey key = begin_key(artifact);
  key.add("codegen", codegen.version).add("source", artifact.source);
  return {.format = kObjectFormat,
          .key = key.hex(),
          .build = [&codegen, text = artifact.source] { return codegen.compile(text); },
          .build_middle = {}};
}

}  // namespace

void register_cpu_codegen(CpuCodegen codegen) {
  auto& registration = cpu_registration();
  const std::lock_guard lock(registration.mutex);
  // The first one stays: references to it are handed out.
  if (registration.codegen) return;
  registration.codegen = std::make_shared<const CpuCodegen>(std::move(codegen));
}

const CpuCodegen* cpu_codegen() {
  auto& registration = cpu_registration();
  const std::lock_guard lock(registration.mutex);
  return registration.codegen.get();
}

const Backend& Backend::of(const Target& target) {
  static const Backend cuda = {"cuda", "ptx", "cubin", emit_cuda, cuda_job, check_network};
  static const Backend cpu = {"llvm", "", "object", emit_llvm, cpu_job};
  return target.is_cuda() ? cuda : cpu;
}

std::vector<std::string_view> Backend::stages() const {
  std::vector<std::string_view> stages = {"ir", "lowered", source_stage};
  if (!middle_stage.empty()) stages.push_back(middle_stage);
  stages.push_back(binary_stage);
  return stages;
}

}  // namespace tilewire
