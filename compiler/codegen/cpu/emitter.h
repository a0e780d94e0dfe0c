#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/codegen/cpu/scalar_emitter.h"
#include "compiler/ir/program.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/memory.h"

namespace tilewire {

/// A position in a tile: one i64 per dimension.
using CpuIndex = std::vector<CpuScalar>;

/// What an op's `emit_cpu` is given to make code with. An op says what an element of its result is;
/// the emitter decides where it is computed: a tile that one statement of the same block uses is
/// computed inside that statement's loop, any other is written to the arena.
///
/// Nothing here names LLVM, so that the ops build without it.
class CpuEmitter {
 public:
  virtual ~CpuEmitter() = default;

  virtual ScalarEmitter& scalars() = 0;

  // Scalar values.
  virtual CpuScalar scalar(const Value* value) = 0;
  virtual void define(const Value* result, CpuScalar scalar) = 0;
  virtual CpuScalar rank() = 0;  ///< in the world
  virtual CpuScalar program_id(int axis) = 0;
  virtual CpuScalar num_programs(int axis) = 0;
  virtual CpuScalar in_task() = 0;  ///< a bool
  virtual const Program& program() const = 0;
  /// The next number of a counter of the launch, from 0 on, which no other instance gets.
  virtual CpuScalar draw(std::int64_t counter) = 0;
  /// Counts an arrival at a word of the launch's; a bool: the last of `count`, which leaves a 0.
  virtual CpuScalar arrive(CpuScalar word, CpuScalar count) = 0;

  // Element-wise ops. The result is cast to the dtype that the statement gives it.
  using ElementFunction = std::function<CpuScalar(ScalarEmitter&, std::span<const CpuScalar>)>;
  /// Element i of the result, or the scalar result, is a function of element i of each tile operand
  /// and of the scalar operands.
  virtual void elementwise(const Statement& statement, const ElementFunction& function) = 0;

  // Tiles of which an element depends on elements at other positions.
  using TileFunction = std::function<CpuScalar(ScalarEmitter&, const CpuIndex&)>;
  enum class Cost : std::uint8_t {
    kFree,      ///< an index mapping or a scalar: computed anew at each use
    kComputed,  ///< computed once per element
  };
  /// The statement's only result is a tile with these elements. `function` may call `element` for
  /// the statement's operands.
  virtual void define_tile(const Statement& statement, Cost cost, const TileFunction& function) = 0;
  /// Inside the range of the tile only.
  virtual CpuScalar element(const Value* tile, const CpuIndex& index) = 0;

  /// Folds the tile operand of `statement` along `axis`, or whole where there is none: result =
  /// combine(… combine(identity, element) …) in an unspecified order. The accumulator has the
  /// result's dtype; elements are cast to it before.
  using Combine = std::function<CpuScalar(ScalarEmitter&, CpuScalar accumulator, CpuScalar x)>;
  virtual void reduce(const Statement& statement, std::optional<std::int64_t> axis,
                      CpuScalar identity, const Combine& combine) = 0;

  /// What happens along one axis of a tile, in order.
  struct OrderedFold {
    std::optional<std::int64_t> axis;  ///< absent: all elements in row-major order
    bool is_reverse = false;           ///< from the last element to the first
    bool keeps_all = false;            ///< results hold the states after each element, not the last
    std::vector<CpuScalar> initial;    ///< the state: one scalar per result, of its dtype
    /// The next state. `position`: along the axis, from 0; without one, in row-major order.
    using Step = std::function<std::vector<CpuScalar>(ScalarEmitter&, std::vector<CpuScalar> state,
                                                      CpuScalar x, CpuScalar position)>;
    Step step;
  };
  /// Defines all results of the statement from its first operand, a tile.
  virtual void fold_in_order(const Statement& statement, const OrderedFold& fold) = 0;

  /// Defines all results of the statement by a call of the `CpuReference` of that name in
  /// `runtime/cpu/symbols.h`. Operands: tiles, scalars and pointers.
  virtual void call_reference(const Statement& statement, std::string_view name,
                              std::span<const std::int64_t> constants = {}) = 0;

  /// The statement's result is `product.acc` + the product of its operands.
  virtual void matmul(const Statement& statement, const Matmul& product) = 0;

  // Memory.
  /// Elements between neighbours of a parameter along a dimension.
  virtual CpuScalar stride(const Value* parameter, std::int64_t dimension) = 0;
  /// Defines the statement's result, a pointer: element `offset` of a parameter, here, or of a
  /// window at a rank of this rank's LSA team.
  virtual void define_address(const Statement& statement, const Value* parameter, const Value* rank,
                              const Value* offset) = 0;
  /// Defines the statement's result, a pointer: `offset` elements of its dtype behind `pointer`.
  virtual void define_pointer(const Statement& statement, const Value* pointer,
                              const Value* offset) = 0;
  virtual void load(const Statement& statement, const TileAccess& access) = 0;
  virtual void store(const Statement& statement, const TileAccess& access) = 0;

  /// Changes each element in one step; defines the result where the statement has one.
  virtual void atomic(const Statement& statement, const TileAccess& access,
                      const Atomic& atomic) = 0;

  /// `multimem_load`, `multimem_store` or `multimem_reduce`: all copies of a window in this rank's
  /// LSA team, of which the pointer leads into this rank's.
  virtual void multimem(const Statement& statement, const TileAccess& access) = 0;

  /// Calls `void name(CpuInstance*, arguments…)` of `runtime/cpu/symbols.h`. It may wait and throw.
  virtual void call_runtime(std::string_view name, std::span<const CpuScalar> arguments) = 0;
};

// `OpInfo::emit_cpu` of the element-wise ops that are one operation of the scalar emitter.

template <CpuScalar (ScalarEmitter::*kOperation)(CpuScalar)>
void emit_cpu_unary(const Statement& statement, CpuEmitter& emitter) {
  emitter.elementwise(statement, [](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
    return (scalars.*kOperation)(operands[0]);
  });
}

template <CpuScalar (ScalarEmitter::*kOperation)(CpuScalar, CpuScalar)>
void emit_cpu_binary(const Statement& statement, CpuEmitter& emitter) {
  emitter.elementwise(statement, [](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
    return (scalars.*kOperation)(operands[0], operands[1]);
  });
}

}  // namespace tilewire
