#include "compiler/codegen/cuda/register_pressure.h"

#include <algorithm>
#include <map>

#include "compiler/codegen/cuda/pieces.h"
#include "compiler/codegen/cuda/schedule.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/mover.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "templates/tilewire/roles.cuh"

namespace tilewire {
namespace {

constexpr int kRegistersOfSm = 64 * 1024;
/// Threads per SM that the registers of any kernel must suffice for. Told so, ptxas keeps the loads
/// of all ranks in flight together; left alone, it saves registers by waiting between them.
constexpr int kUsualResidentThreads = 512;
constexpr int kRegistersForAddresses = 12;
/// Kernels that hold less of a thread's tiles wait for something else than memory.
constexpr int kLeastTileRegisters = 8;
/// Fewer make ptxas wait between loads that could be in flight together.
constexpr int kLeastRegisters = 32;
/// Of a consumer beside its tiles: the loop over tiles, the ring, and places of what it stores.
constexpr int kConsumersOwnRegisters = 44;
/// Of one that communicates: flags, barriers, places in windows.
constexpr int kCommunicatorsOwnRegisters = 84;
/// Of partial sums of products of fp8, half of the accumulators at a time; and of a reduction.
constexpr int kExactSumsRegisters = 64;
constexpr int kReductionRegisters = 64;
/// Of the warpgroup of a producer that waits for flags, or that has a mover, found by trying: they
/// have places of 64 bits in hand over calls. Where one lane works, none of these lies in registers
/// that lanes share.
constexpr int kWaitersRegisters = 88;
/// The same beside consumers that need more, since they keep elements of columns over products.
constexpr int kMoversRegistersBesideColumns = 72;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int registers_of(const Type& type, int num_threads) {
  std::int64_t holders = num_threads;  // threads that share the tile without a copy among them
  if (type.layout.is_per_row()) holders = num_threads / type.layout.lanes;
  if (type.layout.is_per_column()) holders = type.layout.lanes;
  const std::int64_t slots = divide_up(type.num_elements(), std::max<std::int64_t>(1, holders));
  return static_cast<int>(divide_up(slots * num_bytes(type.dtype), 4));
}

bool has_tile(const std::vector<Value*>& values) {
  return std::ranges::any_of(values, [](const Value* value) { return value->type.is_tile(); });
}

/// Whether its tiles, if there are any, are computed element by element: where they aren't kept
/// over another op on tiles, a thread needs one element at a time.
bool is_computed(const Statement& statement) {
  if (statement.kind == StatementKind::kOp && !has_tile(statement.operands) &&
      !has_tile(statement.results)) {
    return true;
  }
  return statement.kind == StatementKind::kOp && statement.op->effect == Effect::kPure &&
         (statement.op->is_elementwise || statement.is("broadcast") || statement.is("reshape") ||
          statement.is("full") || statement.is("arange"));
}

class Pressure {
 public:
  explicit Pressure(const Program& program) : program_(program) {}

  /// With `alive` registers taken by what stands around the region.
  int peak(const Region& region, int alive) {
    const auto order = schedule(region, program_.num_threads);
    std::map<const Value*, std::size_t> last_use;
    for (std::size_t i = 0; i < order.size(); ++i) note_uses(*order[i], i, last_use);
    std::map<std::size_t, int> dying;  // place → registers that are free from there on
    for (const Value* argument : region.arguments) alive += registers_of(argument);
    int peak = alive;
    for (std::size_t i = 0; i < order.size(); ++i) {
      // An element-wise result may lie where its last operand did.
      const int alive_inside = alive;
      alive -= dying[i];
      for (const Value* result : order[i]->results) {
        const int registers = registers_of(result);
        alive += registers;
        if (const std::size_t last = last_use[result]; last > i) {
          dying[last] += registers;
        } else {
          alive -= registers;
        }
      }
      if (!is_computed(*order[i])) peak = std::max(peak, alive);
      for (const Region& inner : order[i]->regions) {
        peak = std::max(peak, this->peak(inner, alive_inside));
      }
    }
    return peak;
  }

 private:
  static void note_uses(const Statement& statement, std::size_t place,
                        std::map<const Value*, std::size_t>& last_use) {
    for (const Value* value : statement.operands) last_use[value] = place;
    for (const Region& inner : statement.regions) {
      for (const auto& each : inner.statements) note_uses(*each, place, last_use);
    }
  }

  int registers_of(const Value* value) {
    if (!value->type.is_tile()) return 0;
    return tilewire::registers_of(value->type, program_.num_threads);
  }

  const Program& program_;
};

/// Whether a statement waits for nobody, and all its registers are its tiles'.
bool is_plain(const Statement& statement) {
  if (statement.kind == StatementKind::kOp && statement.op->effect == Effect::kSynchronises) {
    return false;
  }
  if (statement.kind != StatementKind::kOp || statement.op->is_elementwise) return true;
  if (statement.is("tile_load") || statement.is("tile_store")) return true;
  // One with several results carries more along than they take.
  if (statement.op->reduces_axis) return statement.results.size() == 1;
  return !has_tile(statement.results) || statement.is("full") || statement.is("arange") ||
         statement.is("broadcast") || statement.is("reshape") || statement.is("relayout");
}

/// Whether all of memory is accessed in whole vectors of 16 bytes. Masks and single elements take
/// registers for bounds and addresses.
bool are_accesses_plain(const Program& program) {
  bool are_plain = true;
  for_each_statement(program.body, [&are_plain](const Statement& statement) {
    if (!statement.is("tile_load") && !statement.is("tile_store")) return;
    const TileAccess access = TileAccess::of(statement);
    const int vector_bytes = access.vector * num_bytes(access.pointer->type.dtype);
    are_plain &= access.dimensions.empty() || (!access.is_masked() && vector_bytes == 16);
  });
  return are_plain;
}

bool has_mover(const Program& program) {
  bool has = false;
  for_each_statement(program.body,
                     [&has](const Statement& statement) { has |= is_movers(statement); });
  return has;
}

/// Of the accumulators of a product of staged operands.
int registers_of_products(const Program& program) {
  int most = 0;
  for_each_statement(program.body, [&](const Statement& statement) {
    if (!is_staged(statement)) return;
    most = std::max(most, registers_of(statement.result()->type, program.num_threads) +
                              (Matmul::of(statement).is_exact_fp8 ? kExactSumsRegisters : 0));
  });
  return most;
}

/// Of what comes to such products in one region: tiles that are loaded, or reduced.
int registers_beside_products(const Program& program, const Region& region) {
  int here = 0;
  int inside = 0;
  bool reduces = false;
  for (const auto& statement : region.statements) {
    for (const Region& inner : statement->regions) {
      inside = std::max(inside, registers_beside_products(program, inner));
    }
    if (statement->is("tile_load")) {
      const Type& type = statement->result()->type;
      if (type.is_tile()) here += registers_of(type, program.num_threads);
    }
    reduces |= statement->kind == StatementKind::kOp && statement->op->reduces_axis;
  }
  return std::max(here + (reduces ? kReductionRegisters : 0), inside);
}

}  // namespace

int tile_registers(const Program& lowered) { return Pressure(lowered).peak(lowered.body, 0); }

int producer_registers_of(const Program& lowered) {
  if (lowered.num_threads != 2 * device::kWarpgroupThreads) return 0;
  const bool moves = has_mover(lowered);
  bool waits = false;
  bool has_columns = false;
  for_each_statement(lowered.body, [&](const Statement& statement) {
    waits |= is_producers_wait(statement);
    has_columns |= is_of_columns(statement);
  });
  if (moves && has_columns) return kMoversRegistersBesideColumns;
  return waits || moves ? kWaitersRegisters : 0;
}

bool has_few_registers(const Program& lowered) {
  const int threads = lowered.num_threads;
  if (!has_roles(lowered) || threads <= device::kWarpgroupThreads) return false;
  const int asked = producer_registers_of(lowered);
  const int producer = asked > 0 ? asked : device::producer_registers(threads);
  const int own = asked > 0 ? kCommunicatorsOwnRegisters : kConsumersOwnRegisters;
  return registers_of_products(lowered) + registers_beside_products(lowered, lowered.body) + own >
         device::consumer_registers(threads, producer);
}

int resident_ctas(const Program& lowered, int max_threads) {
  const int num_threads = std::max(1, lowered.num_threads);
  int usual = std::max(1, kUsualResidentThreads / num_threads);
  // All ranks' parts of an exchange come together.
  for_each_statement(lowered.body, [&usual](const Statement& statement) {
    if (statement.is("channel_exchange")) usual = std::min(usual, 2);
  });
  if (!are_accesses_plain(lowered)) return usual;
  bool are_plain = true;
  for_each_statement(lowered.body, [&](const Statement& each) { are_plain &= is_plain(each); });
  const int registers = tile_registers(lowered);
  if (!are_plain || registers < kLeastTileRegisters) return usual;
  const int needed = std::max(registers + kRegistersForAddresses, kLeastRegisters);
  return std::max(1, std::min(kRegistersOfSm / needed, max_threads) / num_threads);
}

}  // namespace tilewire
