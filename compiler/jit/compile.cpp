#include "compiler/jit/compile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/text.h"
#include "compiler/jit/backend.h"
#include "compiler/jit/cuda_compiler.h"
#include "compiler/jit/dump.h"
#include "compiler/passes/lower.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Milliseconds since it was made or last asked.
class Stopwatch {
 public:
  double lap_ms() {
    const auto now = Clock::now();
    const std::chrono::duration<double, std::milli> lap = now - std::exchange(last_, now);
    return lap.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

/// Binaries that this process has made or read, by key.
class MemoryCache {
 public:
  static MemoryCache& get() {
    static MemoryCache cache;
    return cache;
  }
  std::optional<std::string> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = binaries_.find(key);
    return found == binaries_.end() ? std::nullopt : std::optional(found->second);
  }
  void add(const std::string& key, const std::string& binary) {
    const std::lock_guard lock(mutex_);
    binaries_.emplace(key, binary);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> binaries_;
};

/// What the cache's JSON says of the entry: the artifact, whose text and binary lie beside it.
std::string description_of(const Artifact& artifact) {
  Artifact description = artifact;
  description.source.clear();
  description.binary.clear();
  return to_json(description);
}

/// Lowers, describes, and emits the text. `for_binary`: which is compiled next.
Artifact emit(Program program, const Target& target, Dump& dump, bool for_binary) {
  const Program lowered =
      lower(std::move(program), target,
            [&dump](std::string_view pass, const Program& after) { dump.pass(pass, after); });
  Artifact artifact = describe(lowered, target);
  const Backend& backend = Backend::of(target);
  artifact.source = backend.emit(lowered, artifact);
  if (for_binary && backend.check != nullptr) backend.check(lowered, target);
  return artifact;
}

/// Memory, then disk, then the compiler, whose bytes are used as they come and published.
std::string find_or_build(const Artifact& artifact, const CompileJob& job, CompileReport& report) {
  const DiskCache& disk = disk_cache();
  const auto take = [&](std::optional<CacheEntry> entry) {
    report.from_disk = entry.has_value();
    return entry.has_value() ? std::optional(std::move(entry->binary)) : std::nullopt;
  };
  if (auto binary = MemoryCache::get().find(job.key)) {
    report.from_memory = true;
    return std::move(*binary);
  }
  if (auto binary = take(disk.load(job.key, job.format))) return std::move(*binary);
  const DiskCache::Lock lock(disk, job.key);
  // Whoever held the lock before may have published it.
  if (auto binary = take(disk.load(job.key, job.format))) return std::move(*binary);
  Stopwatch stopwatch;
  std::string binary = job.build();
  report.compile_ms = stopwatch.lap_ms();
  disk.publish(job.key, job.format, {artifact.source, binary, description_of(artifact)});
  return binary;
}

void dump_outputs(const Dump& dump, const Backend& backend, const Artifact& artifact,
                  const CompileJob& job) {
  dump.file(backend.source_stage, fmt::format("kernel{}", job.format.source_suffix),
            artifact.source);
  if (job.build_middle && dump.wants(backend.middle_stage)) {
    dump.file(backend.middle_stage, fmt::format("kernel.{}", backend.middle_stage),
              job.build_middle());
  }
}

}  // namespace

Artifact compile(Program program, const Target& target, CompileReport* report) {
  CompileReport ignored;
  CompileReport& told = report == nullptr ? ignored : *report;
  told = {};
  Stopwatch stopwatch;
  Dump dump(program, target);
  const Backend& backend = Backend::of(target);
  Artifact artifact = emit(std::move(program), target, dump, true);
  told.lower_ms = stopwatch.lap_ms();
  const CompileJob job = backend.job(artifact);
  dump_outputs(dump, backend, artifact, job);
  told.key = job.key;
  artifact.binary = find_or_build(artifact, job, told);
  MemoryCache::get().add(job.key, artifact.binary);
  dump.file(backend.binary_stage, fmt::format("kernel{}", job.format.binary_suffix),
            artifact.binary);
  const auto source_path = disk_cache().source_path(job.key, job.format);
  std::error_code error;
  if (std::filesystem::is_regular_file(source_path, error)) told.source_path = source_path;
  return artifact;
}

std::string emit_stage(Program program, const Target& target, std::string_view stage) {
  const Backend& backend = Backend::of(target);
  const auto stages = backend.stages();
  if (std::find(stages.begin(), stages.end(), stage) == stages.end()) {
    throw UserError(fmt::format("stage '{}': target {} has {}", stage, target.to_string(),
                                fmt::join(stages, ", ")));
  }
  if (stage == "ir") return print(program);
  if (stage == "lowered") return print(lower(std::move(program), target));
  if (stage == backend.binary_stage) return compile(std::move(program), target).binary;
  Dump dump(program, target);
  Artifact artifact = emit(std::move(program), target, dump, stage != backend.source_stage);
  if (stage == backend.source_stage) return std::move(artifact.source);
  return backend.job(artifact).build_middle();
}

}  // namespace tilewire
