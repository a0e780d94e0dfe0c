#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/codegen/cuda/pieces.h"
#include "compiler/codegen/cuda/sync_plan.h"
#include "compiler/codegen/cuda/writer.h"
#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

/// How tightly the outermost operator of an expression binds, tightest first.
enum class Binding { kAtom, kUnary, kMultiply, kAdd, kCompare, kEqual, kAnd, kOr, kChoose };

/// What an op's `emit_cuda` writes with: expressions for its operands, definitions of its results.
///
/// A pure result that is used once is no statement of its own: its expression stands where it is
/// used. All other results get a variable with the user's name.
class CudaEmitter {
 public:
  CudaEmitter(const Program& lowered, const Artifact& description);

  // Expressions.
  /// A value as the argument of a call: literals carry their type.
  std::string argument(const Value* value) const;
  /// A value as an operand of an operator that binds as `binding`; in brackets where needed.
  std::string operand(const Value* value, Binding binding) const;
  /// `name(operands…)` of a device function.
  std::string call(std::string_view function, const std::vector<const Value*>& arguments) const;

  // Definitions. `text` computes the value.
  void define(const Value* result, std::string text, Binding binding = Binding::kAtom);
  /// One that must be computed here and now: reads of memory, and what synchronises.
  void define_here(const Value* result, const std::string& text, std::string_view hint);
  /// One that comes in pieces.
  void define_in_pieces(const Value* result, const std::string& text, std::string_view hint);
  /// A variable that a function fills through a reference; returns its name. For ops with several
  /// results.
  std::string declare(const Value* result, std::string_view hint);
  /// One that is computed in place: the name of a variable that holds `before` (null: zeros) and
  /// that holds `result` from now on. It is the variable of `before` where nothing else reads that.
  std::string updated(const Value* result, const Value* before, std::string_view hint);
  /// One that is another value under a new type.
  void alias(const Value* result, const Value* source);
  void statement(std::string_view text);
  /// `head {` in front of the statements that follow, up to `close`.
  void open(std::string_view head);
  void close();
  /// All threads that run the program meet.
  void meet();
  /// Where a two-sided launch tells the peers which one it is
  /// (templates/tilewire/launch_guard.cuh): once, before its first wait. Later calls write nothing.
  void announce_launch();

  // What an op may ask for.
  /// A name that nothing else has.
  std::string unique_name(std::string_view hint);
  /// The name behind a key that several statements know: `hint`, made unique, when first asked for.
  std::string shared_name(const std::string& key, std::string_view hint);
  /// `using name = meaning;` in front of the kernel; returns the name.
  std::string type_alias(const std::string& name, const std::string& meaning);
  std::string type(const Type& type);              ///< `float`, `tw::bf16`, `TileF32_4x128`, `T*`
  std::string extents(const Type& tile) const;     ///< `tw::Extents<4, 128>`
  std::string parameter(const Value* view) const;  ///< the argument's name
  /// A variable that goes with a parameter: one name for the whole kernel, like `ready_launch`.
  std::string companion(const Value* parameter, std::string_view suffix);
  std::string window(const Value* view);  ///< its `ncclWindow_t`
  /// The address of a window's copy at an LSA rank: one name for the whole kernel where the rank is
  /// a constant, computed before its first wait; else an expression.
  std::string peer_address(const Value* view, const Value* rank);
  /// The address that stands for a window in all copies of the LSA team at once.
  std::string multicast_address(const Value* view);
  /// What finds each of those copies (`tw::Copies`).
  std::string copies(const Value* view);
  std::string stride(const Value* view, int dimension) const;
  std::string tensor_map(int index) const;               ///< of `Artifact::tensor_maps`
  std::string size(std::int64_t number) const;           ///< by name where the user named it
  std::string shared(const Statement& statement) const;  ///< where its shared memory begins
  std::string rows_place() const;         ///< where the memory begins that products become rows in
  void include(std::string_view header);  ///< a device header
  /// Puts a function, or a struct, in front of the kernel; `text` gets its unique name, which is
  /// returned. A line kLineMark in it goes back from the user's line numbers to the text's own.
  std::string device_function(std::string_view hint,
                              const std::function<std::string(std::string_view)>& text);
  static constexpr std::string_view kLineMark = "#line own";
  bool comes_in_pieces(const Value* value) const { return pieces_.in_pieces.contains(value); }
  int num_threads() const { return program_.num_threads; }
  bool has_roles() const { return has_roles_; }
  bool has_few_registers() const { return has_few_registers_; }
  bool has_task() const { return has_task_; }
  bool is_in_task() const { return is_in_task_; }  ///< whose warp runs what is written
  const Program& program() const { return program_; }
  const std::string& kernel() const { return program_.name; }  ///< the user's name

 private:
  friend class KernelWriter;  // the structure around the ops
  struct Expression {
    std::string text;
    Binding binding = Binding::kAtom;
  };

  std::string layout(const Type& tile) const;  ///< `tw::Blocked<H, 8, kThreads>`
  void bind(const Value* value, std::string text, Binding binding = Binding::kAtom);
  const Expression& expression(const Value* value) const;
  bool is_inlined(const Value* value, const std::string& text) const;
  bool divides(const Value* value) const;
  std::string variable(const Value* value, std::string_view hint);
  void begin(const Statement& statement);
  /// The comment of the user's line, before its first text: `// ` and kPlaceMark in front of the
  /// place. Its number and what happens there come in when all are known.
  void tell();
  /// The next text of any line is commented again.
  void forget_place() { told_ = {}; }
  static constexpr char kPlaceMark = '\1';

  const Program& program_;
  const Artifact& description_;
  SyncPlan plan_;
  Writer writer_;
  UniqueNames names_;
  std::map<const Value*, Expression> expressions_;
  std::set<std::string> variables_;  ///< names of what may be computed in place
  struct Use {
    int count = 0;
    const Statement* user = nullptr;
    const Region* region = nullptr;
  };
  std::map<const Value*, Use> uses_;
  std::map<const Statement*, const Region*> regions_;
  std::map<const Region*, const Region*> loops_;  ///< region → that of the innermost loop around it
  std::map<std::string, std::string> shared_names_;  ///< key → name
  std::map<std::string, std::string> tile_aliases_;  ///< name → what it stands for
  std::map<const Value*, std::string> windows_;      ///< parameter → name of its ncclWindow_t
  std::map<std::pair<const Value*, std::string>, std::string> companions_;
  /// Window parameter and constant LSA rank → name of the address there.
  std::map<std::pair<const Value*, std::int64_t>, std::string> peer_addresses_;
  std::map<std::pair<const Value*, int>, std::string> strides_;
  std::map<int, std::string> tensor_maps_;
  std::map<std::int64_t, std::string> named_sizes_;
  std::set<std::string, std::less<>> includes_;
  std::vector<std::string> device_functions_;
  using Place = std::pair<std::string, int>;  ///< file name and line
  std::set<Place> told_places_;
  const Statement* current_ = nullptr;
  Place told_;  ///< the line that was commented last
  bool is_announced_ = false;
  bool has_roles_ = false;
  bool has_few_registers_ = false;
  bool has_task_ = false;
  PiecePlan pieces_;
  bool is_in_task_ = false;
};

/// `float`, `tw::bf16`, `int64_t`: the element type in device code.
std::string_view device_type(DType dtype);

/// The rank that a value is, where that is a constant.
std::optional<std::int64_t> constant_rank(const Value* rank);

/// A constant as C++ text; `typed`: its C++ type is exactly that of the dtype.
std::string literal(const Attribute& value, DType dtype, bool typed);

}  // namespace tilewire
