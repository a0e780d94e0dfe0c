#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/arena.h"
#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cpu/llvm_scalars.h"
#include "compiler/codegen/cpu/uses.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

/// Makes one LLVM function of a lowered program: `CpuEntry` of `abi.h`.
///
/// Scalars become SSA values. A tile is either in the arena, or *deferred*: a function from index
/// to element that its one user calls inside its own loop. What a deferred tile reads stays alive,
/// and a deferred tile that reads memory is written to the arena before the next statement that
/// writes memory or synchronises.
class LlvmEmitter final : public CpuEmitter {
 public:
  LlvmEmitter(const Program& program, const Artifact& artifact);

  /// LLVM IR text. InternalError where LLVM finds it malformed.
  std::string run();
  std::int64_t arena_bytes() const { return arena_.num_bytes(); }

  // llvm_emitter.cpp: scalars, calls
  ScalarEmitter& scalars() override { return scalars_; }
  CpuScalar scalar(const Value* value) override;
  void define(const Value* result, CpuScalar scalar) override;
  CpuScalar rank() override;
  CpuScalar program_id(int axis) override;
  CpuScalar num_programs(int axis) override;
  CpuScalar in_task() override;
  const Program& program() const override { return program_; }
  CpuScalar draw(std::int64_t counter) override;
  CpuScalar arrive(CpuScalar word, CpuScalar count) override;
  void call_runtime(std::string_view name, std::span<const CpuScalar> arguments) override;

  // llvm_tiles.cpp
  void elementwise(const Statement& statement, const ElementFunction& function) override;
  void define_tile(const Statement& statement, Cost cost, const TileFunction& function) override;
  CpuScalar element(const Value* tile, const CpuIndex& index) override;
  void reduce(const Statement& statement, std::optional<std::int64_t> axis, CpuScalar identity,
              const Combine& combine) override;

  // llvm_folds.cpp
  void fold_in_order(const Statement& statement, const OrderedFold& fold) override;

  // llvm_references.cpp
  void call_reference(const Statement& statement, std::string_view name,
                      std::span<const std::int64_t> constants) override;

  // llvm_atomics.cpp
  void atomic(const Statement& statement, const TileAccess& access, const Atomic& atomic) override;

  // llvm_multimem.cpp
  void multimem(const Statement& statement, const TileAccess& access) override;

  // llvm_matmul.cpp
  void matmul(const Statement& statement, const Matmul& product) override;

  // llvm_memory.cpp
  CpuScalar stride(const Value* parameter, std::int64_t dimension) override;
  void define_address(const Statement& statement, const Value* parameter, const Value* rank,
                      const Value* offset) override;
  void define_pointer(const Statement& statement, const Value* pointer,
                      const Value* offset) override;
  void load(const Statement& statement, const TileAccess& access) override;
  void store(const Statement& statement, const TileAccess& access) override;

 private:
  struct Tile {
    std::optional<std::int64_t> offset;      ///< in the arena; absent: deferred
    bool owns_offset = true;                 ///< a loop's region argument doesn't
    bool is_free = false;                    ///< deferred whoever uses it: an index mapping
    bool is_shared = false;                  ///< deferred, and used several times in one loop
    bool reads_memory = false;               ///< deferred, and evaluating it loads user memory
    int depth = 0;                           ///< of deferred tiles inside each other
    TileFunction function;                   ///< deferred: its elements
    std::set<std::int64_t> same_position;    ///< arena tiles read at the element's own position
    std::set<std::int64_t> other_positions;  ///< arena tiles read elsewhere
    std::vector<const Value*> held;          ///< deferred: released with it
  };
  struct Bounds {
    llvm::Value* lower;
    llvm::Value* upper;
  };
  using Values = std::vector<llvm::Value*>;
  using CarriedTiles = std::vector<std::int64_t>;  ///< offsets; -1 for scalars
  using LoopBody = std::function<Values(llvm::Value* index, const Values& carried)>;
  using IndexBody = std::function<void(const CpuIndex&)>;

  // llvm_emitter.cpp
  void begin_function();
  void bind_arguments();
  void emit_region(const Region& region);
  void emit_statement(const Statement& statement);
  void release(const Value* value);
  void count_access();
  llvm::Value* instance_field(std::size_t offset, llvm::Type* type);
  llvm::Value* index_constant(std::int64_t value) { return builder_.getInt64(value); }
  CpuScalar as_index(llvm::Value* value) const { return {value, kIndex}; }

  // llvm_tiles.cpp
  void place(const Statement& statement, Tile tile);
  bool may_defer(const Value* result, bool reads_memory) const;
  void add_leaves(Tile& tile, const Statement& statement, bool at_same_position);
  void materialise(const Value* value);
  void write_elements(std::int64_t offset, const Type& type, const TileFunction& function);
  void reduce_rows(const Value* tile, const Type& result, std::int64_t offset, CpuScalar identity,
                   const Combine& combine);
  void reduce_slices(const Value* tile, std::int64_t axis, const Type& result, std::int64_t offset,
                     CpuScalar identity, const Combine& combine);
  CpuScalar fold(const Value* tile, CpuIndex prefix, CpuScalar accumulator, const Combine& combine);
  void flush_pending_reads();
  bool is_materialised(const Value* value) const;
  std::int64_t allocate(const Type& type);
  llvm::Value* flat_index(const Type& type, const CpuIndex& index);
  CpuScalar load_arena(std::int64_t offset, const Type& type, const CpuIndex& index);
  void store_arena(std::int64_t offset, const Type& type, const CpuIndex& index, CpuScalar x);

  // llvm_folds.cpp
  std::vector<CpuScalar> fold_places(const Statement& statement, const OrderedFold& fold,
                                     const std::vector<std::int64_t>& offsets, CpuIndex prefix,
                                     std::vector<CpuScalar> state);
  std::vector<CpuScalar> fold_step(const Statement& statement, const OrderedFold& fold,
                                   const std::vector<std::int64_t>& offsets, const CpuIndex& index,
                                   std::vector<CpuScalar> state);

  // llvm_references.cpp
  llvm::Value* arena_place(std::int64_t offset);
  void describe_tile(std::int64_t offset, const Type& type, llvm::Value* data);
  llvm::Value* reference_operand(const Value* value, std::vector<std::int64_t>& borrowed);

  // llvm_atomics.cpp
  CpuScalar change(llvm::Value* place, const Atomic& atomic, CpuScalar value, CpuScalar compare);
  llvm::Value* change_by_swapping(llvm::Value* place, const Atomic& atomic, CpuScalar value);
  llvm::Value* swap(llvm::Value* place, const Atomic& atomic, llvm::Value* compare,
                    llvm::Value* value);

  // llvm_multimem.cpp
  llvm::Value* in_copy(llvm::Value* place, const Value* window, llvm::Value* member);
  CpuScalar reduced(const Statement& load, llvm::Value* place, DType dtype, std::int64_t slot);
  void multimem_load(const Statement& statement, const TileAccess& access);
  void multimem_write(const Statement& statement, const TileAccess& access);

  // llvm_matmul.cpp
  CpuScalar round_to_tf32(CpuScalar x);
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum);

  // llvm_memory.cpp
  llvm::Value* address(const TileAccess& access, const Type& type, const CpuIndex& index);
  /// Runs the body where an element exists, as far as masks and index tiles say it.
  void if_exists(const TileAccess& access, const CpuIndex& index,
                 const std::function<void()>& body);
  CpuScalar offset_of(const TileAccess& access, const CpuIndex& index);
  CpuScalar load_memory(llvm::Value* pointer, DType dtype);
  void store_memory(llvm::Value* pointer, CpuScalar x);
  void load_scalar(const Statement& statement, const TileAccess& access);
  void load_masked(const Statement& statement, const TileAccess& access);
  std::vector<Bounds> inside_bounds(const TileAccess& access);
  CpuScalar operand_element(const Value* value, const CpuIndex& index);
  llvm::Value* world_rank(const Statement& statement, llvm::Value* member);

  // llvm_control.cpp
  Values loop(llvm::Value* lower, llvm::Value* upper, llvm::Value* step, const Values& initial,
              const LoopBody& body);
  void loops(const std::vector<Bounds>& bounds, const IndexBody& body, CpuIndex prefix = {});
  void loops(const Type& type, const IndexBody& body);
  Values branch(llvm::Value* condition, const std::function<Values()>& then_body,
                const std::function<Values()>& else_body);
  void emit_for(const Statement& statement);
  void emit_while(const Statement& statement);
  CarriedTiles begin_carried(const Statement& loop, Values& initial);
  void define_carried(const Statement& loop, const Region& region, const Values& scalars);
  void end_carried(const Statement& loop, const Values& scalars);
  void emit_if(const Statement& statement);
  void emit_return();
  void check_in();
  Values yield_scalars(const Statement& yield);
  void yield_to_loop(const Statement& yield, const std::vector<std::int64_t>& offsets);
  bool may_write_in_place(const Statement& yield, std::size_t position,
                          const std::vector<std::int64_t>& offsets) const;
  void copy_tile(const Value* from, std::int64_t offset);

  const Program& program_;
  const Artifact& artifact_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> builder_;
  LlvmScalars scalars_;
  Uses uses_;
  Arena arena_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  llvm::Value* arena_pointer_ = nullptr;
  llvm::AllocaInst* rounds_left_ = nullptr;  ///< until the next check-in; null: no loop so far
  llvm::MDNode* arena_scope_ = nullptr;      ///< alias scopes: the arena never overlaps user memory
  llvm::MDNode* memory_scope_ = nullptr;

  std::map<const Value*, CpuScalar> scalar_values_;  ///< also pointers, of their element's dtype
  std::map<const Value*, llvm::Value*> parameters_;  ///< of tensors and windows
  std::map<std::pair<int, int>, llvm::Value*> strides_;  ///< (parameter, dimension)
  std::map<const Value*, Tile> tiles_;
  std::map<const Value*, int> remaining_users_;
  /// Elements of shared tiles by position, computed in the block under construction or in one that
  /// dominates it: a loop's body and a branch forget theirs.
  using Elements = std::map<std::pair<const Value*, std::vector<void*>>, CpuScalar>;
  Elements elements_;
  std::vector<const Value*>
      pending_reads_;            ///< deferred tiles that read memory and are held by none
  bool holds_operands_ = false;  ///< the statement being emitted deferred its result
};

}  // namespace tilewire
