#include "compiler/codegen/cuda/common_ring.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/codegen/cuda/access.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/support/error.h"
#include "templates/tilewire/fragment_layout.cuh"
#include "templates/tilewire/slot_layout.cuh"

namespace tilewire {
namespace {

constexpr int kKilobyte = 1024;
constexpr int kReservedBytes = 1024;  // of an SM's shared memory, by each CTA
constexpr int kOtherBytes = 512;      // what stands in static shared memory beside `shared`
constexpr int kRegistersOfSm = 65536;
/// Beside what a thread's products hold: words of operands, sums of a slot, addresses, masks.
constexpr int kOtherRegisters = 100;
constexpr int kUsualStages = 4;
/// Fewer than these hide less than another CTA on the SM does.
constexpr int kFewestStagesBesideOthers = 3;

/// Shared memory of an SM (CUDA programming guide, "Technical Specifications per Compute
/// Capability").
int shared_bytes_of_sm(int compute_capability) {
  if (compute_capability == 80 || compute_capability == 87) return 164 * kKilobyte;
  const bool is_large = compute_capability / 10 == 9 || compute_capability / 10 == 10;
  return (is_large ? 228 : 100) * kKilobyte;
}

/// A thread's sums, and words of left operands in registers, in the products of a region that
/// aren't in a loop of their own.
int product_registers(const Region& region, int num_threads) {
  std::int64_t own = 0;
  int most = 0;
  for (const auto& statement : region.statements) {
    if (is_ahead(*statement)) {
      own += statement->result()->type.num_elements() / num_threads;
      if (first_staged_operand(*statement) > 0) {
        own += statement->operands.at(0)->type.num_elements() / 2 / num_threads;
      }
    }
    for (const Region& inner : statement->regions) {
      most = std::max(most, product_registers(inner, num_threads));
    }
  }
  return std::max(most, static_cast<int>(own));
}

std::string slot_type(DType dtype, const std::vector<std::int64_t>& shape, std::size_t depth,
                      CudaEmitter& emitter) {
  emitter.include("slot_layout.cuh");
  const std::int64_t lines = shape.at(1 - depth);
  const bool is_by_depth = depth == 1;
  return emitter.type_alias(
      fmt::format("Slot_{}_{}x{}{}", name_of(dtype), lines, shape.at(depth),
                  is_by_depth ? "" : "_by_lines"),
      fmt::format("tw::SlotTile<{}, {}, {}, {}>", device_type(dtype), emitter.size(lines),
                  emitter.size(shape.at(depth)), is_by_depth));
}

}  // namespace

int max_shared_bytes(int compute_capability) {
  return shared_bytes_of_sm(compute_capability) - kReservedBytes;
}

CommonRingPlan plan_common_ring(const Program& lowered, const Target& target) {
  CommonRingPlan plan;
  std::int64_t wanted = 0;
  bool has_rows = false;
  for_each_statement(lowered.body, [&](const Statement& statement) {
    has_rows |= goes_as_rows(statement);
    if (is_ahead(statement) && statement.has("stages")) {
      wanted = std::max(wanted, statement.integer("stages"));
    }
    if (!statement.is("copy_operand")) return;
    std::int64_t bytes = num_bytes(statement.operands.at(0)->type.dtype);
    for (const std::int64_t extent : statement.integers("shape")) bytes *= extent;
    plan.slot_bytes =
        std::max(plan.slot_bytes, static_cast<int>(statement.integer("offset") + bytes));
  });
  if (plan.slot_bytes == 0) return plan;
  if (has_rows) plan.rows_bytes = device::fragment_rows_bytes(lowered.num_threads);
  const int other_bytes =
      plan.rows_bytes + place_shared_memory(lowered).num_bytes + kOtherBytes + kReservedBytes;
  const int most = static_cast<int>(wanted > 0 ? std::max<std::int64_t>(wanted, 2) : kUsualStages);
  const auto stages_of = [&](int num_ctas) {
    const int bytes = shared_bytes_of_sm(target.compute_capability) / num_ctas - other_bytes;
    return std::min(most, bytes / plan.slot_bytes);
  };
  const int registers = (product_registers(lowered.body, lowered.num_threads) + kOtherRegisters) *
                        lowered.num_threads;
  plan.num_ctas = std::max(1, kRegistersOfSm / registers);
  while (plan.num_ctas > 1 &&
         stages_of(plan.num_ctas) < std::min(most, kFewestStagesBesideOthers)) {
    --plan.num_ctas;
  }
  plan.num_stages = stages_of(plan.num_ctas);
  if (plan.num_stages < 2) throw InternalError("the ring's slots find no room");
  return plan;
}

void emit_begin_slots_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.define_here(statement.result(), "ring.begin()", "ahead");
}

void emit_copy_operand_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("common_ring.cuh");
  const TileAccess access = TileAccess::of(statement);
  const DType dtype = access.pointer->type.dtype;
  const std::string slot = slot_type(dtype, statement.integers("shape"),
                                     static_cast<std::size_t>(statement.integer("depth")), emitter);
  emitter.statement(fmt::format("ring.copy<{}, {}, {}, kThreads>({});", slot,
                                statement.integer("offset"), access.vector,
                                access_text(access, {}, statement, emitter, true)));
}

void emit_fill_slot_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("ring.fill();");
}

void emit_await_slot_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("ring.await();");
}

void emit_product_ahead_cuda(const Statement& matmul, CudaEmitter& emitter) {
  const Matmul product = Matmul::of(matmul);
  emitter.include("slot_matmul.cuh");
  std::vector<std::string> operands;
  const std::size_t first = first_staged_operand(matmul);
  for (std::size_t place = first; place < 2; ++place) {
    const Statement& operand = *matmul.operands.at(place)->definition;
    const bool is_transposed =
        place == 0 ? product.left_is_transposed : product.right_is_transposed;
    operands.push_back(slot_type(operand.dtype("dtype"), operand.integers("shape"),
                                 depth_dimension(place, is_transposed), emitter));
    operands.push_back(fmt::format("{}", operand.integer("offset")));
  }
  const std::string name = emitter.updated(matmul.result(), product.acc, "product");
  if (first > 0) {
    emitter.statement(fmt::format("tw::multiply_held_slot<{}>({}, {}, ring);",
                                  fmt::join(operands, ", "), name, emitter.argument(product.left)));
    return;
  }
  emitter.statement(fmt::format("tw::multiply_slot{}<{}>({}, ring);",
                                product.is_exact_fp8 ? "_exactly" : "", fmt::join(operands, ", "),
                                name));
}

}  // namespace tilewire
