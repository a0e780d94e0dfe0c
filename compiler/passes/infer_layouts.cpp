#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "compiler/ops/layouts.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/ops/task.h"
#include "compiler/passes/layout_groups.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"
#include "templates/tilewire/fragment_layout.cuh"

namespace tilewire {
namespace {

constexpr std::int64_t kElementsPerThread = 16;     // aim: enough loads in flight, few registers
constexpr std::int64_t kMaxElementsPerThread = 64;  // more would spill
/// Tiles of more aren't held at all: they would take minutes to compile, and run from local memory.
constexpr std::int64_t kMostElementsPerThread = 256;
constexpr int kMinThreads = 128;
constexpr int kUsualMaxThreads = 512;  // 128 registers for each; more threads get fewer
constexpr int kMaxThreads = 1024;
constexpr int kWarpThreads = 32;
constexpr int kLoopWeight = 8;  // a conversion inside a loop counts as so many outside
/// Lanes that read 128 bytes, which memory hands out at once, by vectors of 16.
constexpr int kCoalescedLanes = 8;

/// A power of two that gives each thread about `kElementsPerThread` elements of the largest tile.
/// So that a copy between views has enough bytes in flight.
constexpr int kLeastCopyThreads = 256;

int threads_for(std::int64_t num_elements) {
  int threads = kMinThreads;
  while (threads < kUsualMaxThreads && threads * kElementsPerThread < num_elements) threads *= 2;
  while (threads < kMaxThreads && threads * kMaxElementsPerThread < num_elements) threads *= 2;
  return threads;
}

/// UserError where a tile of the program is too large for the threads of a CTA.
void check_fits(const LayoutGroup& group) {
  constexpr std::int64_t kMost = kMaxThreads * kMostElementsPerThread;
  if (group.num_elements() <= kMost) return;
  const auto found = std::ranges::find_if(
      group.tiles, [](const Value* tile) { return tile->definition != nullptr; });
  const Value* tile = found == group.tiles.end() ? group.tiles.front() : *found;
  const Statement* definition = tile->definition;
  const bool is_product = definition != nullptr && definition->is("matmul");
  throw UserError(
      fmt::format("a tile of {} is too large for a GPU: a program's {} threads hold {} elements "
                  "each at most, {} together; {}",
                  shape_to_string(tile->type.shape), kMaxThreads, kMostElementsPerThread, kMost,
                  is_product
                      ? "compute the product in smaller blocks, one for each item of "
                        "`tw.tiles(...)`, or give `tw.matmul` views, which go over K in parts"
                      : "work on parts of it in a loop, such as `for i in range(0, M, 64)` "
                        "with `x[tw.ds(i, 64), :]`, or on one for each item of `tw.tiles(...)`"),
      definition == nullptr ? SourceLocation{} : definition->location);
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Threads that share a row: as few registers with padding as can be. Where rows are reduced, then
/// within a warp and by few shuffles, but enough lanes to read whole lines of memory; where only
/// columns meet, as many as there are vectors. Doesn't depend on what this rank's memory looks
/// like, so that all ranks add in one order.
int lanes_for(const LayoutGroup& group, int num_threads) {
  const int vector = group.vector(false);
  const std::int64_t rows = group.num_elements() / group.num_columns();
  const std::int64_t vectors = group.num_columns() / vector;
  const auto slots_with = [&](int lanes) {
    return divide_up(rows, num_threads / lanes) * divide_up(vectors, lanes);
  };
  const auto is_better = [&](int lanes, int best) {
    if (slots_with(lanes) != slots_with(best)) return slots_with(lanes) < slots_with(best);
    return !group.has_per_row || best < kCoalescedLanes || lanes <= kWarpThreads / 4;
  };
  int best = 1;
  for (int lanes = 2; num_threads % lanes == 0 && lanes < 2 * vectors; lanes *= 2) {
    if (is_better(lanes, best)) best = lanes;
  }
  return best;
}

/// The smaller tiles of a reduction or broadcast as slices of the larger one.
struct SlicedOp {
  std::vector<Value*> smaller;
  Value* larger = nullptr;
  Slice slice = Slice::kNone;

  /// `smaller` is empty where the statement is no such op.
  static SlicedOp of(const Statement& statement) {
    if (statement.kind != StatementKind::kOp) return {};
    if (statement.is("broadcast")) {
      Value* source = statement.operands.at(0);
      Value* result = statement.result();
      return {{source}, result, slice_repeated_by_broadcast(source->type, result->type)};
    }
    if (!statement.op->reduces_axis || !statement.has("axis")) return {};
    Value* tile = statement.operands.at(0);
    if (!statement.result()->type.is_tile()) return {};
    return {statement.results, tile,
            slice_left_by_reduction(tile->type, statement.integer("axis"))};
  }
};

class LayoutInference {
 public:
  explicit LayoutInference(Program& program) : program_(program), groups_(program) {}

  void run(const Target& target) {
    std::int64_t largest = 1;
    for (const LayoutGroup& group : groups_.all()) {
      if (target.is_cuda()) check_fits(group);
      largest = std::max(largest, group.num_elements());
    }
    program_.num_threads = threads_for(largest);
    if (has_beside_task(program_.body, "view_copy")) {
      program_.num_threads = std::max(program_.num_threads, kLeastCopyThreads);
    }
    // A CTA has room for 1024, the task's warp among them.
    if (find_task(program_) != nullptr) {
      program_.num_threads = std::min(program_.num_threads, kUsualMaxThreads);
    }
    stage();
    for (LayoutGroup& group : groups_.all()) {
      if (!group.layout.is_known() && group.wants_rows()) set(group, rows_of(group));
    }
    vote(program_.body, 1);
    for (LayoutGroup& group : groups_.all()) {
      if (!group.layout.is_known()) set(group, elected(group));
    }
    convert(program_.body);
  }

 private:
  /// Staged products, and left operands in registers, lie as wgmma has them; their rows say how
  /// many warpgroups there are. So do those whose operands all threads bring.
  void stage() {
    int num_threads = 0;
    for_each_statement(program_.body, [&](const Statement& statement) {
      if (!is_staged(statement) && !is_ahead(statement)) return;
      const int threads = is_staged(statement)
                              ? consumer_threads(statement.result()->type.shape.at(0))
                              : warpgroups_ahead(statement) * device::kWarpgroupThreads;
      num_threads = num_threads == 0 ? threads : std::gcd(num_threads, threads);
      set(groups_.of(statement.result()), Layout::fragment(Layout::Kind::kFragment));
      for (std::size_t i = 0; i < 2; ++i) {
        const bool is_held = i < first_staged_operand(statement);
        set(groups_.of(statement.operands.at(i)),
            is_held ? Layout::fragment(Layout::Kind::kFragment) : Layout{Layout::Kind::kStaged, 1});
      }
    });
    if (num_threads == 0) return;
    program_.num_threads = num_threads;
    while (spread_fragments()) {
    }
  }

  /// Blocks of the columns of products, and what they are joined with, stay in their registers.
  /// Whether any group has got its layout by that.
  bool spread_fragments() {
    bool has_changed = false;
    for_each_statement(program_.body, [&](const Statement& statement) {
      if (statement.kind != StatementKind::kOp || !renames_fragments(statement)) return;
      std::vector<const Value*> tiles(statement.operands.begin(), statement.operands.end());
      const bool is_met = std::ranges::any_of(tiles, [this](const Value* tile) {
        return groups_.of(tile).layout.kind == Layout::Kind::kFragment;
      });
      if (!is_met) return;
      tiles.push_back(statement.result());
      for (const Value* tile : tiles) {
        LayoutGroup& group = groups_.of(tile);
        if (group.layout.is_known()) continue;
        set(group, Layout::fragment(Layout::Kind::kFragment));
        has_changed = true;
      }
    });
    return has_changed;
  }

  static void set(LayoutGroup& group, Layout layout) {
    group.layout = layout;
    for (Value* tile : group.tiles) tile->type.layout = layout;
  }

  Layout rows_of(const LayoutGroup& group) const {
    return {Layout::Kind::kRows, group.vector(true), lanes_for(group, program_.num_threads)};
  }

  /// Each reduction and broadcast would like its smaller tile to be a slice of the larger one.
  void vote(const Region& region, int weight) {
    for (const auto& statement : region.statements) {
      const SlicedOp sliced = SlicedOp::of(*statement);
      for (Value* smaller : sliced.smaller) {
        const Layout layout = layout_of_slice(sliced.slice, sliced.larger->type);
        if (layout.is_known()) groups_.of(smaller).votes[layout] += weight;
      }
      const bool is_loop =
          statement->kind == StatementKind::kFor || statement->kind == StatementKind::kWhile;
      for (const Region& inner : statement->regions) {
        vote(inner, is_loop ? weight * kLoopWeight : weight);
      }
    }
  }

  /// The layout that most ops would like; blocked where none asks for one.
  static Layout elected(const LayoutGroup& group) {
    const auto most =
        std::ranges::max_element(group.votes, {}, [](const auto& vote) { return vote.second; });
    const bool is_slice = most != group.votes.end() && !group.is_owned;
    return is_slice ? most->first : Layout{.vector = group.vector(true)};
  }

  /// Inserts a `relayout` where the elected layout isn't the one that an op would like.
  void convert(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      replaced_.resolve_all(statement->operands);
      Inserter insert(program_, region.statements, statement->location);
      const SlicedOp sliced = SlicedOp::of(*statement);
      const Layout wanted =
          sliced.smaller.empty() ? Layout{} : layout_of_slice(sliced.slice, sliced.larger->type);
      const auto fits = [&wanted](const Value* tile) {
        return !wanted.is_known() || wanted == tile->type.layout;
      };
      const bool is_broadcast = statement->is("broadcast");
      if (is_broadcast && !fits(statement->operands[0])) {
        statement->operands[0] = relayout(statement->operands[0], wanted, insert);
      }
      Statement& placed = insert.append(std::move(statement));
      for (Value* result : sliced.smaller) {
        if (is_broadcast || fits(result)) continue;
        const Layout elected = std::exchange(result->type.layout, wanted);
        replaced_.replace(result, relayout(result, elected, insert));
      }
      for (Region& inner : placed.regions) convert(inner);
    }
  }

  static Value* relayout(Value* tile, Layout layout, Inserter& insert) {
    const Statement* definition = tile->definition;
    if (definition != nullptr && definition->is("relayout") &&
        definition->operands[0]->type.layout == layout) {
      return definition->operands[0];
    }
    Value* result = insert.op("relayout", {tile});
    result->type.layout = layout;
    result->name = tile->name;
    return result;
  }

  Program& program_;
  LayoutGroups groups_;
  Replacements replaced_;
};

}  // namespace

Program infer_layouts(Program program, const Target& target) {
  LayoutInference(program).run(target);
  return program;
}

}  // namespace tilewire
