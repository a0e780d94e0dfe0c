#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/attribute.h"
#include "compiler/ir/program.h"
#include "compiler/ir/type.h"
#include "compiler/jit/artifact.h"
#include "compiler/support/source_location.h"

namespace tilewire {

class CudaEmitter;  // compiler/codegen/cuda/emitter.h
class CpuEmitter;   // compiler/codegen/cpu/emitter.h

/// What an op is asked to type: its operands' types and its attributes.
struct OpCall {
  const OpInfo& info;
  std::span<const Type> operands;
  const Attributes& attributes;
  SourceLocation location;

  /// UserError at the call's location, with the op's name in front.
  [[noreturn]] void fail(const std::string& message) const;
};

struct AttributeSpec {
  enum class Kind { kInteger, kFloat, kBool, kText, kDType, kIntegers, kAny };
  std::string_view name;
  Kind kind;
  bool required;
  std::string_view meaning;
};

/// What an op does besides computing its results. Pure ops may be folded, merged and removed.
/// Those that report are neither removed nor put in another order among themselves; they touch no
/// memory. kHidden: something that no other op sees (it warms a cache, it draws from a counter):
/// the op stays where it is and orders nothing.
enum class Effect { kPure, kReads, kWrites, kSynchronises, kReports, kHidden };

/// What an op that synchronises does, besides ordering memory (attribute `order`).
struct Meeting {
  bool tells = true;   ///< others learn that this instance has come so far
  bool waits = true;   ///< it goes on when others have
  bool learns = true;  ///< behind it, what they wrote can be read; else it is only safe to write
};

/// When in the pipeline an op may stand.
enum class Stage { kAny, kFrontend, kLowered };

/// An op: its meaning, side by side. Made in one file of this folder, listed once in `table.cpp`.
struct OpInfo {
  std::string_view name;
  /// First sentence of its entry in docs/ops.md.
  std::string_view summary;
  /// What programs call it, by its attributes; null: its name.
  std::string (*called)(const Attributes&) = nullptr;
  int min_operands = 0;
  int max_operands = 0;  ///< -1: any number
  std::vector<AttributeSpec> attributes;
  Effect effect = Effect::kPure;
  Meeting meeting;  ///< of kSynchronises
  /// Each element of the result depends on the same element of the operands alone; scalar operands
  /// stand for every element.
  bool is_elementwise = false;
  /// Reduces its operand along attribute `axis` (absent: all of them). Its CUDA code finds whole
  /// rows in a group of threads where the axis allows, and leaves results in the slice of those
  /// (`layout_of_slice`) or, where the result's layout is another, in that.
  bool reduces_axis = false;
  Stage stage = Stage::kAny;
  /// Passes make it for CUDA alone: it has no code for the CPU.
  bool is_for_cuda = false;

  /// Result types; UserError where operands or attributes don't fit.
  std::vector<Type> (*infer)(const OpCall&) = nullptr;
  /// What it needs of the communicator; null: nothing.
  Resources (*resources)(const Statement&) = nullptr;
  /// What hang and deadlock reports call a wait here, whose number is attribute `site`: the user's
  /// words. Null: it never waits.
  std::string (*wait_site)(const Statement&, const Program&) = nullptr;
  /// Of a frontend op whose first operand is a view of synchronisation objects: the op that
  /// lowering views makes of it (`ObjectAccess` in object_access.h), by what they are.
  std::string_view (*lowered)(Memory) = nullptr;
  /// Of a two-sided op: its CUDA text has `CudaEmitter::announce_launch`, behind what it sends and
  /// before it waits. Else that comes before the op.
  bool announces_launch = false;
  /// Emits CUDA text. Null only for ops that lowering removes.
  void (*emit_cuda)(const Statement&, CudaEmitter&) = nullptr;
  /// Bytes of shared memory that its CUDA code passes data through, with a `__syncthreads` between
  /// writing and reading them, on so many threads; 0 or null: none.
  int (*cuda_shared_bytes)(const Statement&, int num_threads) = nullptr;
  /// Emits code for the CPU. Null only for ops that lowering removes, and those for CUDA.
  void (*emit_cpu)(const Statement&, CpuEmitter&) = nullptr;
};

/// What the user's program calls the op.
std::string name_in_program(const OpInfo& info, const Attributes& attributes);

/// What one statement does: a load of memory that nobody writes during the launch (a `tw.constant`
/// tensor) is pure, any other op does what its table entry says. Structures (for, if, …) are asked
/// about their statements.
Effect effect_of(const Statement& op);

/// All ops, in the order of docs/ops.md.
const std::vector<OpInfo>& op_table();

/// InternalError where there is none of that name.
const OpInfo& find_op(std::string_view name);
const OpInfo* find_op_or_null(std::string_view name);

/// Checks operand count and attribute kinds against the table, then asks `infer`. Layouts are not
/// inferred: the layout pass sets them, and types compare equal modulo layout before it.
std::vector<Type> infer_types(const OpCall& call);

}  // namespace tilewire
