#include "compiler/passes/find_products_ahead.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/codegen/cuda/common_ring.h"
#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/multimem.h"
#include "compiler/ops/op.h"
#include "compiler/ops/put.h"
#include "compiler/ops/staging.h"
#include "templates/tilewire/fragment_layout.cuh"
#include "templates/tilewire/slot_layout.cuh"

namespace tilewire {
namespace {

constexpr int kFp8Capability = 89;  // tensor cores that multiply fp8
constexpr int kMaxWarpgroups = 4;
/// Of a thread, in all products of a loop; and together with its words of a left operand's slot.
constexpr std::int64_t kMaxAccumulators = 128;
constexpr std::int64_t kMaxHeld = 176;
constexpr int kLeastSlots = 2;
constexpr int kMostBytesOfOp = 48 * 1024;  // static shared memory of a kernel
constexpr int kMostThreads = kMaxWarpgroups * device::kWarpgroupThreads;

std::int64_t num_tile_bytes(const Type& tile) {
  return tile.num_elements() * num_bytes(tile.dtype);
}

/// The dimension of an operand's tile that K is.
std::size_t depth_of(const Statement& matmul, std::size_t place) {
  return depth_dimension(place, matmul.flag(place == 0 ? "transpose_a" : "transpose_b"));
}

/// What may be said of a loop: which of its products can take their operands from slots.
class LoopReader {
 public:
  LoopReader(const Program& program, const Target& target, const std::map<const Value*, int>& uses,
             Statement& loop)
      : program_(program), target_(target), uses_(uses), loop_(loop) {
    for (const auto& statement : loop.body().statements) inside_.insert(statement.get());
  }

  LoopAhead read() {
    LoopAhead found;
    found.loop = &loop_;
    if (!is_quiet()) return found;
    for (const auto& statement : loop_.body().statements) {
      if (statement->is("matmul") && is_possible(*statement)) {
        found.products.push_back(statement.get());
        if (is_held(*statement)) found.held.insert(statement.get());
      }
    }
    while (drop_shared_loads(found)) {
    }
    for (const Statement* matmul : found.products) {
      for (std::size_t place = found.first_operand(matmul); place < 2; ++place) {
        const Statement* load = matmul->operands[place]->definition;
        const SlotOperand operand = {place, depth_of(*matmul, place), found.slot_bytes};
        if (!found.operands.emplace(load, operand).second) continue;
        found.slot_bytes += num_tile_bytes(load->result()->type);
      }
    }
    return found;
  }

 private:
  /// Whether nothing in the loop waits, tells or reports: its loads come earlier than they stand.
  bool is_quiet() const {
    bool is_quiet = true;
    for_each_statement(loop_.body(), [&](const Statement& statement) {
      if (statement.kind == StatementKind::kReturn) is_quiet = false;
      if (statement.kind != StatementKind::kOp) return;
      const Effect effect = effect_of(statement);
      is_quiet &= effect == Effect::kPure || effect == Effect::kReads || statement.is("tile_store");
    });
    return is_quiet;
  }

  /// Whether a store of the loop may change what a load reads.
  bool is_overwritten(const Statement& load) const {
    if (load.flag("constant")) return false;
    const Value* from = parameter_behind(load.operands.at(0));
    bool is_overwritten = false;
    for_each_statement(loop_.body(), [&](const Statement& statement) {
      is_overwritten |= statement.is("tile_store") &&
                        may_share_memory(program_, from, parameter_behind(statement.operands[0]));
    });
    return is_overwritten;
  }

  bool is_possible(const Statement& matmul) const {
    const Matmul product = Matmul::of(matmul);
    const Type& left = product.left->type;
    const std::int64_t depth_bytes = product.depth * num_bytes(left.dtype);
    if (left.rank() != 2 || !is_on_tensor_cores(product) || is_staged(matmul)) return false;
    if (is_fp8(left.dtype) && target_.compute_capability < kFp8Capability) return false;
    if (product.rows % device::kWgmmaRows != 0 || product.columns % 16 != 0 ||
        depth_bytes % device::kMmaBytes != 0) {
      return false;
    }
    return (can_come_early(matmul, 0) || is_held(matmul)) && can_come_early(matmul, 1);
  }

  /// Whether the left operand comes from registers, where the tensor cores take elements of 16 bits
  /// from as products leave them: what was computed, or loaded for more than this product.
  bool is_held(const Statement& matmul) const {
    const Matmul product = Matmul::of(matmul);
    const Statement* made = product.left->definition;
    const bool is_loaded_for_it = made != nullptr && made->is("tile_load") &&
                                  inside_.contains(made) && uses_.at(product.left) == 1;
    return num_bytes(product.left->type.dtype) == 2 && !product.left_is_transposed &&
           !is_loaded_for_it && !can_come_early(matmul, 0);
  }

  /// Whether an operand is a load of the loop's body that `cp.async` can make, at a place that only
  /// the loop's index and what stands before the loop say.
  bool can_come_early(const Statement& matmul, std::size_t place) const {
    const Value* tile = matmul.operands.at(place);
    const Statement* load = tile->definition;
    if (load == nullptr || !inside_.contains(load) || !load->is("tile_load")) return false;
    if (load->flag("where") || load->flag("other") || load->has("gather") || load->has("cache")) {
      return false;
    }
    if (is_overwritten(*load)) return false;
    const TileAccess access = TileAccess::of(*load);
    const int element_bytes = num_bytes(tile->type.dtype);
    if (access.vector * element_bytes < 4) return false;  // the least that is copied at once
    // `ldmatrix` turns 16-bit elements.
    const bool is_by_lines = depth_of(matmul, place) != 1;
    if (is_by_lines && (element_bytes != 2 || tile->type.shape[1] % 16 != 0)) return false;
    return std::ranges::all_of(load->operands,
                               [this](const Value* operand) { return is_known(operand); });
  }

  bool is_known(const Value* value) const {
    const auto& arguments = loop_.body().arguments;
    if (value == arguments.front()) return true;
    const Statement* made = value->definition;
    if (made == nullptr) return std::ranges::find(arguments, value) == arguments.end();
    if (!inside_.contains(made)) return true;
    return made->kind == StatementKind::kOp && made->op->effect == Effect::kPure &&
           !value->type.is_tile() &&
           std::ranges::all_of(made->operands,
                               [this](const Value* operand) { return is_known(operand); });
  }

  /// Leaves out a product that has a load in common with something else than such a product, or
  /// with one along another dimension. Whether there was one.
  bool drop_shared_loads(LoopAhead& found) const {
    std::map<const Value*, int> own_uses;
    std::map<const Value*, std::set<std::size_t>> depths;
    for (const Statement* matmul : found.products) {
      for (std::size_t place = found.first_operand(matmul); place < 2; ++place) {
        ++own_uses[matmul->operands[place]];
        depths[matmul->operands[place]].insert(depth_of(*matmul, place));
      }
    }
    const auto is_shared = [&](const Value* tile) {
      return own_uses.at(tile) != uses_.at(tile) || depths.at(tile).size() > 1;
    };
    return std::erase_if(found.products, [&](const Statement* matmul) {
             return std::any_of(matmul->operands.begin() +
                                    static_cast<std::ptrdiff_t>(found.first_operand(matmul)),
                                matmul->operands.begin() + 2, is_shared);
           }) > 0;
  }

  const Program& program_;
  const Target& target_;
  const std::map<const Value*, int>& uses_;
  Statement& loop_;
  std::set<const Statement*> inside_;  ///< statements of the loop's body itself
};

/// Chooses loops and a number of warpgroups that suits all of them.
class Chooser {
 public:
  Chooser(Program& program, const Target& target)
      : program_(program), target_(target), uses_(count_uses(program.body)) {}

  std::vector<LoopAhead> run() {
    std::vector<LoopAhead> chosen;
    std::set<int> warpgroups;
    for_each_statement(program_.body, [&](Statement& statement) {
      if (statement.kind != StatementKind::kFor) return;
      LoopAhead loop = LoopReader(program_, target_, uses_, statement).read();
      if (loop.products.empty()) return;
      std::set<int> both = warpgroups_for(loop);
      if (!chosen.empty()) {
        std::erase_if(both, [&](int number) { return !warpgroups.contains(number); });
      }
      if (both.empty()) return;
      warpgroups = std::move(both);
      chosen.push_back(std::move(loop));
    });
    if (chosen.empty() || !has_room(chosen, *warpgroups.begin())) return {};
    for (const LoopAhead& loop : chosen) {
      for (Statement* matmul : loop.products) {
        matmul->attributes["ahead"] = std::int64_t{*warpgroups.begin()};
        if (loop.first_operand(matmul) > 0) matmul->attributes["held"] = true;
      }
    }
    return chosen;
  }

 private:
  /// Whether slots of all loops fit beside what the other ops may need of shared memory.
  bool has_room(const std::vector<LoopAhead>& chosen, int warpgroups) const {
    std::set<const Statement*> products;
    std::int64_t slot_bytes = 0;
    for (const LoopAhead& loop : chosen) {
      products.insert(loop.products.begin(), loop.products.end());
      slot_bytes = std::max(slot_bytes, loop.slot_bytes);
    }
    int other_bytes = 0;
    for_each_statement(program_.body, [&](const Statement& statement) {
      if (statement.kind == StatementKind::kOp && !products.contains(&statement)) {
        other_bytes = std::max(other_bytes, most_shared_bytes(statement));
      }
    });
    constexpr int kSlackBytes = 2048;
    return kLeastSlots * slot_bytes + other_bytes + kSlackBytes +
               device::fragment_rows_bytes(warpgroups * device::kWarpgroupThreads) <=
           max_shared_bytes(target_.compute_capability);
  }

  /// Of an op, in any layout; layouts may also differ where a smaller tile meets a larger one.
  static int most_shared_bytes(const Statement& op) {
    std::int64_t bytes = 0;
    if (op.is("broadcast")) {
      bytes = num_tile_bytes(op.operands.at(0)->type);
    } else if (op.op->reduces_axis) {  // a part of each result by each warp
      constexpr std::int64_t kMostBytes = 8;
      for (const Value* result : op.results) {
        const std::int64_t count = result->type.is_tile() ? result->type.num_elements() : 1;
        bytes += count * kMostBytes * (kMostThreads / device::kWarpThreads);
      }
    } else {
      bytes = shared_bytes_of(op, kMostThreads);
    }
    return static_cast<int>(std::min<std::int64_t>(bytes, kMostBytesOfOp));
  }

  /// How many warpgroups can multiply: each has whole blocks of rows, and registers hold the sums.
  static std::set<int> warpgroups_for(const LoopAhead& loop) {
    std::set<int> possible;
    for (int number = 1; number <= kMaxWarpgroups; ++number) {
      std::int64_t accumulators = 0;
      std::int64_t words = 0;
      bool is_possible = true;
      for (const Statement* matmul : loop.products) {
        const Matmul product = Matmul::of(*matmul);
        const std::int64_t threads = std::int64_t{number} * device::kWarpgroupThreads;
        is_possible &= product.rows % (number * device::kWgmmaRows) == 0;
        accumulators += product.rows * product.columns / threads;
        words = std::max(words, product.rows * product.depth * num_bytes(product.left->type.dtype) /
                                    4 / threads);
      }
      if (is_possible && accumulators <= kMaxAccumulators && accumulators + words <= kMaxHeld) {
        possible.insert(number);
      }
    }
    return possible;
  }

  Program& program_;
  const Target& target_;
  std::map<const Value*, int> uses_;
};

/// Whether nothing else in the program keeps its threads from filling a ring: a producer does so
/// already, bulk copies have the dynamic shared memory, and loads through ranks' own addresses
/// stand in an order with multicast accesses that has been settled where they stood.
bool is_free(const Program& program, const Target& target) {
  bool is_free = !has_staged_product(program.body) && !has_bulk_copies(program, target);
  for_each_statement(program.body, [&](const Statement& statement) {
    is_free &= statement.kind != StatementKind::kOp || !is_multimem(statement);
  });
  return is_free;
}

}  // namespace

std::vector<LoopAhead> find_products_ahead(Program& program, const Target& target) {
  if (!is_free(program, target)) return {};
  return Chooser(program, target).run();
}

}  // namespace tilewire
