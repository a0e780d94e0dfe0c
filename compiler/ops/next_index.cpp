#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

constexpr std::int64_t kMaxCounters = 64;

std::vector<Type> infer_next_index(const OpCall& call) {
  const std::int64_t counter = integer_attribute(call, "counter");
  if (counter < 0 || counter >= kMaxCounters) {
    call.fail(fmt::format("counter {}: a kernel has at most {} loops with schedule=\"dynamic\"",
                          counter, kMaxCounters));
  }
  return {Type::scalar(kIndex)};
}

void emit_cpu_next_index(const Statement& statement, CpuEmitter& emitter) {
  emitter.define(statement.result(), emitter.draw(statement.integer("counter")));
}

void emit_next_index_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("counters.cuh");
  emitter.define_here(statement.result(),
                      fmt::format("launch_counters.draw({}, {})", statement.integer("counter"),
                                  emitter.shared(statement)),
                      "next");
}

int next_index_shared_bytes(const Statement&, int) { return num_bytes(kIndex); }

}  // namespace

OpInfo next_index_op() {
  OpInfo op;
  op.name = "next_index";
  op.summary = "The next number of a counter of the launch, from 0 on: no instance gets it twice.";
  op.attributes = {{"counter", AttributeSpec::Kind::kInteger, true, "which one"}};
  op.effect = Effect::kHidden;
  op.infer = infer_next_index;
  op.emit_cpu = emit_cpu_next_index;
  op.emit_cuda = emit_next_index_cuda;
  op.cuda_shared_bytes = next_index_shared_bytes;
  return op;
}

}  // namespace tilewire
