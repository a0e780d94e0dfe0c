#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "compiler/ops/matmul.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/passes.h"
#include "templates/tilewire/fragment_layout.cuh"

namespace tilewire {
namespace {

/// Accumulators of one thread: what they leave of its registers is for addresses and epilogues.
constexpr std::int64_t kMaxAccumulators = 160;
/// The same with the words of a left operand that is held in registers.
constexpr std::int64_t kMaxHeld = 192;
/// Two slots of a ring fit beside what else a CTA may hold in shared memory.
constexpr std::int64_t kMaxSlotBytes = 80 * 1024;
constexpr std::int64_t kRowBytes = 128;  // of an operand in shared memory: what one swizzle spans

/// Whether wgmma multiplies such elements, and where K is not what is contiguous, too.
bool is_multiplied(DType left, DType right) {
  if (is_fp8(left)) return is_fp8(right);
  return left == right && (left == DType::kBF16 || left == DType::kF16 || left == DType::kF32);
}

/// Whether wgmma computes a product of such a shape from shared memory.
bool fits_instructions(const Matmul& product) {
  const std::int64_t depth_bytes = product.depth * num_bytes(product.left->type.dtype);
  const bool has_rows = product.rows % device::kWgmmaRows == 0 ||
                        (product.rows < device::kWgmmaRows && product.rows % 16 == 0);
  const bool is_whole = has_rows && product.columns % 8 == 0 && depth_bytes % kRowBytes == 0;
  if (product.batch != 1 || !is_whole) return false;
  if (product.left->type.dtype == DType::kF32 && !product.is_tf32) return false;
  return product.rows * product.columns / consumer_threads(product.rows) <= kMaxAccumulators;
}

class Stager {
 public:
  explicit Stager(Program& program) : program_(program), uses_(count_uses(program.body)) {
    collect(program.body);
  }

  void run() {
    if (!is_possible_) return;
    bool has_staged = false;
    for (Statement* matmul : matmuls_) {
      const bool is_held = can_be_held(*matmul);
      if (is_held) matmul->attributes["held"] = true;
      if (!can_stage(*matmul)) {
        matmul->attributes.erase("held");
        continue;
      }
      matmul->attributes["staged"] = true;
      has_staged = true;
    }
    if (!has_staged) return;
    for (Statement* wait : waits_) {
      if (is_known_wait(*wait)) wait->attributes["producer"] = true;
    }
  }

 private:
  void collect(Region& region) {
    for (auto& statement : region.statements) {
      parents_[statement.get()] = enclosing_;
      if (statement->is("matmul")) matmuls_.push_back(statement.get());
      note(*statement);
      for (Region& inner : statement->regions) {
        for (const Value* argument : inner.arguments) owners_[argument] = statement.get();
        enclosing_.push_back(statement.get());
        collect(inner);
        enclosing_.pop_back();
      }
      regions_[statement.get()] = &region;
    }
  }

  /// What the roles of a kernel can't be split around, and what they must know of.
  void note(Statement& statement) {
    if (statement.kind == StatementKind::kReturn) is_possible_ = false;
    if (statement.kind != StatementKind::kOp) return;
    if (statement.op->effect == Effect::kWrites) {
      written_[parameter_of(statement.operands.at(0))].push_back(&statement);
    }
    if (acquires(statement)) waits_.push_back(&statement);
  }

  /// Whether what others wrote may be read behind it.
  static bool acquires(const Statement& op) {
    if (op.is("atomic")) return op.text("order") == "acquire" || op.text("order") == "acq_rel";
    return op.op->effect == Effect::kSynchronises && op.op->meeting.waits;
  }

  /// A wait that takes nothing, for what the producer can tell by itself.
  bool is_known_wait(const Statement& op) {
    if (!op.is("wait") || op.operands[0]->type.memory != Memory::kFlag) return false;
    return is_known_view(op.operands[0]) &&
           std::all_of(op.operands.begin() + 1, op.operands.end(),
                       [this](const Value* operand) { return is_known(operand); });
  }

  /// Whether the left operand can stay in registers, where wgmma takes elements of 16 bits from:
  /// what was computed, or loaded for more than this product.
  bool can_be_held(const Statement& matmul) const {
    const Matmul product = Matmul::of(matmul);
    const Type& left = product.left->type;
    const Statement* made = product.left->definition;
    const bool is_loaded_for_it = made != nullptr && made->is("load") &&
                                  uses_.at(product.left) == 1 &&
                                  regions_.at(made) == regions_.at(&matmul);
    return num_bytes(left.dtype) == 2 && left.rank() == 2 && !product.left_is_transposed &&
           product.rows % device::kWgmmaRows == 0 && !is_loaded_for_it &&
           held_registers(product) <= kMaxHeld;
  }

  /// Of a thread, for both the accumulators and the left operand.
  static std::int64_t held_registers(const Matmul& product) {
    const int threads = consumer_threads(product.rows);
    return product.rows * (product.columns + product.depth / 2) / threads;
  }

  bool can_stage(const Statement& matmul) {
    const Matmul product = Matmul::of(matmul);
    if (!is_multiplied(product.left->type.dtype, product.right->type.dtype)) return false;
    if (!fits_instructions(product) || slot_bytes(matmul) > kMaxSlotBytes) return false;
    for (std::size_t i = first_staged_operand(matmul); i < 2; ++i) {
      if (!is_brought(matmul.operands.at(i), matmul)) return false;
    }
    return is_undisturbed(product, matmul) && is_known_control(matmul) &&
           std::ranges::all_of(waits_,
                               [this](const Statement* wait) { return is_known_control(*wait); });
  }

  /// A load whose tile nothing else reads, of memory that somebody writes only where the producer
  /// can tell.
  bool is_brought(const Value* operand, const Statement& matmul) {
    const Statement* load = operand->definition;
    if (load == nullptr || !load->is("load") || load->flag("other") || load->flag("where")) {
      return false;
    }
    if (uses_.at(operand) != 1 || regions_.at(load) != regions_.at(&matmul)) return false;
    const Value* parameter = parameter_of(load->operands.at(0));
    if (!is_mappable(parameter)) return false;
    const auto writes = written_.find(parameter);
    if (writes != written_.end() &&
        !std::ranges::all_of(writes->second,
                             [this](const Statement* write) { return is_known_control(*write); })) {
      return false;
    }
    return is_known_view(load->operands.at(0));
  }

  /// Whether a map says where it lies in each launch.
  bool is_mappable(const Value* parameter) const {
    const std::vector<bool>& mappable = program_.facts.mappable;
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const Parameter& each = program_.parameters[i];
      if (each.value == parameter) return i < mappable.size() && mappable[i] && each.rotate == 0;
    }
    return false;
  }

  /// Nothing that others could see stands between the loads and the product.
  bool is_undisturbed(const Matmul& product, const Statement& matmul) const {
    bool is_between = false;
    for (const auto& statement : regions_.at(&matmul)->statements) {
      if (statement.get() == &matmul) return true;
      is_between |= statement.get() == product.left->definition ||
                    statement.get() == product.right->definition;
      const bool is_quiet =
          statement->kind == StatementKind::kOp &&
          (statement->op->effect == Effect::kPure || statement->op->effect == Effect::kReads);
      if (is_between && !is_quiet) return false;
    }
    return false;
  }

  bool is_known_view(const Value* view) {
    for (; view->definition != nullptr; view = view->definition->operands.at(0)) {
      const Statement& made = *view->definition;
      if (!made.is("slice") && !made.is("permute") && !made.is("at")) return false;
      for (std::size_t i = 1; i < made.operands.size(); ++i) {
        if (!is_known(made.operands[i])) return false;
      }
    }
    return true;
  }

  /// Whether the producer can find out by itself how often, and whether, the statement runs.
  bool is_known_control(const Statement& statement) {
    return std::ranges::all_of(parents_.at(&statement), [this](const Statement* parent) {
      return is_known_structure(*parent);
    });
  }

  bool is_known_structure(const Statement& structure) {
    if (structure.kind == StatementKind::kWhile) {
      return is_known(structure.regions.at(0).statements.back()->operands.at(0));
    }
    const std::size_t num_controlling = structure.kind == StatementKind::kFor ? 3 : 1;
    for (std::size_t i = 0; i < num_controlling; ++i) {
      if (!is_known(structure.operands.at(i))) return false;
    }
    return true;
  }

  /// Whether the producer can compute a value: scalars, from what nobody writes.
  bool is_known(const Value* value) {
    const auto [found, is_new] = known_.try_emplace(value, true);  // a loop's value may need itself
    if (!is_new) return found->second;
    const bool result = can_know(value);
    // What was found known on the way may have counted on this one.
    if (!result) std::erase_if(known_, [](const auto& entry) { return entry.second; });
    return known_[value] = result;
  }

  bool can_know(const Value* value) {
    if (value->type.is_tile()) return false;
    const Statement* made = value->definition;
    if (made == nullptr) {
      const auto owner = owners_.find(value);
      if (owner == owners_.end()) return true;  // a parameter or a dimension
      return is_known_argument(value, *owner->second);
    }
    if (made->kind == StatementKind::kOp) {
      const bool is_read = made->is("load") && !written_.contains(parameter_of(made->operands[0]));
      // Numbers that all threads read when they start, or the producer itself hands out.
      const bool is_handed_out = made->is("generation") || made->is("next_index");
      if (is_handed_out) return true;
      if (made->op->effect != Effect::kPure && !is_read) return false;
      return std::ranges::all_of(made->operands, [this](const Value* operand) {
        return operand->type.is_view() ? is_known_view(operand) : is_known(operand);
      });
    }
    if (!is_known_structure(*made)) return false;
    const auto place =
        static_cast<std::size_t>(std::ranges::find(made->results, value) - made->results.begin());
    if (made->kind != StatementKind::kIf) return is_known_carried(*made, place);
    return std::ranges::all_of(made->regions, [&](const Region& region) {
      return is_known(region.statements.back()->operands.at(place));
    });
  }

  /// The index of a loop, or what it carries.
  bool is_known_argument(const Value* value, const Statement& loop) {
    if (!is_known_structure(loop)) return false;
    for (const Region& region : loop.regions) {
      const auto found = std::ranges::find(region.arguments, value);
      if (found == region.arguments.end()) continue;
      const auto place = static_cast<std::size_t>(found - region.arguments.begin());
      const std::size_t num_before = region.arguments.size() - loop.results.size();
      return place < num_before || is_known_carried(loop, place - num_before);
    }
    return false;
  }

  bool is_known_carried(const Statement& loop, std::size_t place) {
    return is_known(loop.operands.at(loop.num_bounds() + place)) &&
           is_known(loop.body().statements.back()->operands.at(place));
  }

  Program& program_;
  std::map<const Value*, int> uses_;
  std::vector<const Statement*> enclosing_;
  std::map<const Statement*, std::vector<const Statement*>> parents_;  ///< outer first
  std::map<const Statement*, const Region*> regions_;
  std::map<const Value*, const Statement*> owners_;  ///< region argument → whose
  std::vector<Statement*> matmuls_;
  std::vector<Statement*> waits_;
  std::map<const Value*, std::vector<const Statement*>> written_;  ///< parameter → by which
  std::map<const Value*, bool> known_;
  bool is_possible_ = true;
};

}  // namespace

bool has_staged_products(const Target& target) { return target.architecture == "sm_90a"; }

Program stage_products(Program program, const Target& target) {
  if (has_staged_products(target)) {
    Stager(program).run();
  } else {
    program.cluster_size = 1;
  }
  return program;
}

}  // namespace tilewire
