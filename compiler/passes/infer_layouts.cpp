#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"

namespace tilewire {
namespace {

constexpr int kMaxVectorBytes = 16;                 // the widest load and store of one thread
constexpr std::int64_t kElementsPerThread = 16;     // aim: enough loads in flight, few registers
constexpr std::int64_t kMaxElementsPerThread = 64;  // more would spill
constexpr int kMinThreads = 128;
constexpr int kUsualMaxThreads = 512;  // 128 registers for each; more threads get fewer
constexpr int kMaxThreads = 1024;

/// The largest power of two that divides n, `limit` (a power of two) at most.
int vector_dividing(std::int64_t n, int limit) {
  int vector = limit;
  while (n % vector != 0) vector /= 2;
  return vector;
}

/// A power of two that gives each thread about `kElementsPerThread` elements of the largest tile.
int threads_for(std::int64_t num_elements) {
  int threads = kMinThreads;
  while (threads < kUsualMaxThreads && threads * kElementsPerThread < num_elements) threads *= 2;
  while (threads < kMaxThreads && threads * kMaxElementsPerThread < num_elements) threads *= 2;
  return threads;
}

/// Tiles that share a layout: one shape, connected by ops that work element by element.
struct Group {
  Value* parent = nullptr;  ///< of the union-find forest
  int smallest_bytes = 0;   ///< of the dtypes that memory accesses have; 0: no access
  int vector_limit = 0;     ///< least `vector` of accesses that can't go by 16 bytes; 0: none
};

class LayoutInference {
 public:
  explicit LayoutInference(Program& program) : program_(program) {}

  void run() {
    connect(program_.body);
    for_each_statement(program_.body, [this](const Statement& statement) { constrain(statement); });
    std::int64_t largest = 1;
    for_each_tile(program_.body, [&](Value* tile) {
      tile->type.layout.vector = vector_of(tile);
      largest = std::max(largest, tile->type.num_elements());
    });
    program_.num_threads = threads_for(largest);
  }

 private:
  Value* root(Value* tile) {
    Group& group = groups_[tile];
    if (group.parent == nullptr || group.parent == tile) return group.parent = tile;
    return group.parent = root(group.parent);
  }

  void unite(Value* a, Value* b) {
    if (a->type.is_tile() && b->type.is_tile()) groups_[root(a)].parent = root(b);
  }

  void connect(const Region& region) {
    for (const auto& statement : region.statements) {
      connect_statement(*statement);
      for (const Region& inner : statement->regions) connect(inner);
    }
  }

  void connect_statement(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::kOp:
        return connect_op(statement);
      case StatementKind::kFor:
      case StatementKind::kWhile:
        for (std::size_t i = 0; i < statement.results.size(); ++i) {
          unite(statement.results[i], statement.operands[i + statement.num_bounds()]);
          unite(statement.results[i], statement.body().statements.back()->operands[i]);
          for (const Region& region : statement.regions) {
            const std::size_t num_before = region.arguments.size() - statement.results.size();
            unite(statement.results[i], region.arguments[i + num_before]);
          }
        }
        return;
      case StatementKind::kIf:
        for (std::size_t i = 0; i < statement.results.size(); ++i) {
          for (const Region& branch : statement.regions) {
            unite(statement.results[i], branch.statements.back()->operands[i]);
          }
        }
        return;
      case StatementKind::kYield:
      case StatementKind::kReturn:
        return;
    }
  }

  void connect_op(const Statement& op) {
    if (op.is("matmul") && op.operands.size() > 2) unite(op.result(), op.operands[2]);
    Value* tile = access_tile(op);
    if (op.op->is_elementwise && op.result()->type.is_tile()) tile = op.result();
    if (tile == nullptr || !tile->type.is_tile()) return;
    for (Value* result : op.results) unite(tile, result);
    for (Value* operand : op.operands) {  // the offsets of a gather may have a shape of their own
      if (operand->type.shape == tile->type.shape) unite(tile, operand);
    }
  }

  /// The tile that an access reads or writes; null for other ops.
  static Value* access_tile(const Statement& statement) {
    if (statement.is("tile_load")) return statement.result();
    const bool writes = statement.is("tile_store") || statement.is("tile_atomic");
    return writes ? with_shape(statement) : nullptr;
  }

  /// A stored scalar stands for a tile of the access's shape; its mask may still be one.
  static Value* with_shape(const Statement& store) {
    const TileAccess access = TileAccess::of(store);
    return access.tile->type.is_tile() || access.where == nullptr ? access.tile : access.where;
  }

  void constrain(const Statement& statement) {
    Value* tile = access_tile(statement);
    if (tile == nullptr || !tile->type.is_tile()) return;
    const TileAccess access = TileAccess::of(statement);
    const int bytes = num_bytes(access.pointer->type.dtype);
    Group& group = groups_[root(tile)];
    group.smallest_bytes =
        group.smallest_bytes == 0 ? bytes : std::min(group.smallest_bytes, bytes);
    if (access.vector * bytes == kMaxVectorBytes) return;  // goes in several pieces of 16 bytes
    group.vector_limit =
        group.vector_limit == 0 ? access.vector : std::min(group.vector_limit, access.vector);
  }

  int vector_of(Value* tile) {
    const Group& group = groups_[root(tile)];
    const int bytes = group.smallest_bytes != 0 ? group.smallest_bytes
                                                : num_bytes(compute_dtype(tile->type.dtype));
    int limit = kMaxVectorBytes / bytes;
    if (group.vector_limit != 0) limit = std::min(limit, group.vector_limit);
    return vector_dividing(tile->type.shape.back(), limit);
  }

  void for_each_tile(const Region& region, const auto& visit) {
    for (Value* argument : region.arguments) {
      if (argument->type.is_tile()) visit(argument);
    }
    for (const auto& statement : region.statements) {
      for (Value* result : statement->results) {
        if (result->type.is_tile()) visit(result);
      }
      for (const Region& inner : statement->regions) for_each_tile(inner, visit);
    }
  }

  Program& program_;
  std::unordered_map<Value*, Group> groups_;
};

}  // namespace

Program infer_layouts(Program program, const Target&) {
  LayoutInference(program).run();
  return program;
}

}  // namespace tilewire
