#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/frontend/operand.h"
#include "compiler/frontend/tiles.h"
#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// Makes IR by the rules of the language: widening, broadcasting, literals, loop-carried types.
/// Both frontends stand on it; names are those of `tw` in Python. Values belong to the program
/// under construction. Wrong use throws UserError at the current location.
class Builder {
 public:
  Builder(std::string name, std::string source_file, const Target& target);

  /// Where the following statements stand in the user's program.
  void set_location(int line, int column);
  void set_location(SourceLocation location);
  const SourceLocation& location() const { return location_; }
  /// The user's name for a value; the first one given stays.
  Value* name(Value* value, std::string_view user_name);

  // Signature. Run-time dimensions appear in the order of first use. A dimension that was declared
  // by `constant_parameter` before is static.
  /// `is_constant`: nobody writes it during a launch, so that its loads may move above waits.
  Value* tensor(std::string name, DType dtype, std::vector<Dimension> shape,
                bool is_constant = false);
  /// `rotate`: so many copies, of which each launch sees the next; 0: one.
  Value* window(std::string name, DType dtype, std::vector<Dimension> shape,
                std::int64_t rotate = 0);
  // Arrays of synchronisation objects; all extents are static (builder_objects.cpp).
  Value* semaphore(std::string name, std::vector<Dimension> shape);
  Value* flag(std::string name, std::vector<Dimension> shape);
  Value* channel(std::string name, std::vector<Dimension> shape, ChannelType type);
  Value* scalar(std::string name, DType dtype);
  Value* dimension(std::string_view name);  ///< UserError where no parameter has it
  void constant_parameter(std::string name, Attribute value);

  // What the program knows of its world.
  std::int64_t world_size() const;
  std::int64_t lsa_size() const;

  // Scalars and indices.
  Value* constant(Operand literal, DType dtype);
  Value* program_id(int axis = 0);
  Value* num_programs(int axis = 0);
  Value* rank(std::string_view team = "world");
  std::int64_t team_size(std::string_view team) const;
  /// Whether loads and stores reach a rank of the world. Under an `if` on it, `at` takes that rank.
  Value* is_lsa(Operand rank);
  Value* cdiv(Operand a, Operand b);  ///< integers; a / b, rounded up

  // Views and memory.
  Value* at(Value* window, Operand rank, std::string_view team = "");
  /// Missing indices mean `all`. A range with literal bounds is a `ds`: its tile is static.
  Value* slice(Value* view, const std::vector<Index>& indices);
  Value* extent(Value* view, int dimension);
  /// Memory from `offset` elements behind the view's first on, under any shape (literals, or
  /// integers of the program) and strides (in elements; empty: without gaps, row-major). That it is
  /// there is the caller's promise, which the CPU target checks; masks are for the new extents.
  Value* view(Value* base, Operand offset, const std::vector<Operand>& shape,
              const std::vector<Operand>& strides = {});
  /// The view's dimensions in another order; empty: reversed.
  Value* permute(Value* view, std::vector<std::int64_t> order = {});
  /// A field of the records that lie in the last dimension of a view of bytes; `offset` in bytes.
  Value* field(Value* bytes, std::int64_t offset, DType dtype, std::vector<std::int64_t> shape);
  /// Which elements of the view exist: a bool tile of its shape.
  Value* inside(Value* view);
  /// `cache`: a hint of `load_cache_hints()`; empty: none.
  Value* load(Value* view, std::optional<Operand> other = {}, Value* where = nullptr,
              std::string_view cache = {});
  /// Casts to the view's dtype. `cache`: a hint of `store_cache_hints()`; empty: none.
  void store(Value* view, Operand value, Value* where = nullptr, std::string_view cache = {});
  /// Brings what the view looks at into the L2 cache.
  void prefetch(Value* view);

  // Tiles.
  Value* full(std::vector<std::int64_t> shape, Operand value, DType dtype);  ///< rank 0: a scalar
  Value* zeros(std::vector<std::int64_t> shape, DType dtype);                ///< rank 0: a scalar
  /// start, start + step, … before stop.
  Value* arange(std::int64_t start, std::int64_t stop, std::int64_t step = 1,
                DType dtype = DType::kI32);
  Value* cast(Operand value, DType dtype);
  /// `rounding`: "nearest", "toward_zero", "up", "down". Between floats `saturate` makes what is
  /// too large the largest number, else it is infinity (e4m3: NaN); absent: true for e4m3 alone.
  Value* cast(Operand value, DType dtype, std::string_view rounding,
              std::optional<bool> saturate = {});
  /// The same bits in a dtype of the same width.
  Value* bitcast(Operand value, DType dtype);
  Value* broadcast(Operand value, std::vector<std::int64_t> shape);  ///< as NumPy's
  Value* reshape(Value* tile, std::vector<std::int64_t> shape);      ///< in row-major order
  Value* extract(Value* tile, const std::vector<Operand>& indices);  ///< outside: 0
  /// sum (f64; other floats in f32, bool and narrow integers in 32 bits), max, min; any, all, of
  /// a tile's elements as bools. No axis: over all elements, giving a scalar.
  Value* reduce(std::string_view op, Value* tile, std::optional<int> axis = {});

  // Tiles whose elements are moved or combined in order (builder_moves.cpp).
  /// argmax, argmin: the element and its index (i32). No axis: of all, in row-major order.
  Values arg_reduce(std::string_view op, Value* tile, std::optional<int> axis = {});
  /// cumsum, cumprod; dtypes as for sum. `reverse`: from the last element to the first.
  Value* scan(std::string_view op, Value* tile, int axis, bool reverse = false);
  /// The result's dimension i is the tile's dimension axes[i]; none: all in reverse.
  Value* transpose(Value* tile, std::vector<int> axes = {});
  /// `shape` elements from `start` on.
  Value* part(Value* tile, std::vector<std::int64_t> start, std::vector<std::int64_t> shape);
  Value* flip(Value* tile, int axis);
  /// One behind the other along an axis, in their common dtype.
  Value* cat(Value* a, Value* b, int axis = 0);
  Values split(Value* tile, int axis = 0);  ///< two halves
  /// Tiles or scalars of one shape along a new first dimension, in their common dtype. Reductions
  /// along it become element-wise ops on the parts, in their order.
  Value* stack(const Values& parts);
  /// NaN is last in both directions; equal elements in any order.
  Value* sort(Value* tile, int axis = -1, bool descending = false);
  /// The same, and where each element stood; equal elements keep their order.
  Values argsort(Value* tile, int axis = -1, bool descending = false);
  /// As `numpy.take_along_axis`; an index outside gives 0.
  Value* gather(Value* tile, Value* index, int axis);
  /// Counts (i32) of 0 … num_bins - 1 in a tile of integers; others aren't counted.
  Value* histogram(Value* tile, std::int64_t num_bins);

  // builder_inline.cpp
  struct InlineCudaOptions {
    std::optional<DType> dtype = {};       ///< of the result; absent: the reference's
    std::vector<std::int64_t> shape = {};  ///< of the result, where no input is a tile
    Value* reference = nullptr;            ///< what the CPU computes instead, from the same inputs
    int line = 0;                          ///< where the text begins in the program's file
  };
  /// CUDA text on each element: an expression, or statements that return; `{0}` is the first input.
  Value* inline_cuda(std::string_view code, const std::vector<Operand>& inputs,
                     const InlineCudaOptions& options);

  // builder_reports.cpp
  /// A line per program instance; `text` has `{}` where values stand, `{{` for a brace. `all`: a
  /// line per element of the tiles, which have one shape.
  void print(std::string_view text, const std::vector<Operand>& values, bool all = false);
  /// Ends the launch unless the bool scalar or tile holds (everywhere); shows `values`, or what it
  /// compares.
  void assert_(Value* condition, std::string_view message, const std::vector<Operand>& values = {});

  // builder_atomics.cpp
  struct AtomicOptions {
    Value* where = nullptr;              ///< bool: which elements are changed
    std::string_view order = "acq_rel";  ///< or `relaxed`, `acquire`, `release`
    /// `cta`, `gpu` or `system`; empty: `system` for windows, which peers reach, else `gpu`.
    std::string_view scope = "";
  };
  /// Changes each element of a view (32 or 64 bits, f16, bf16) in one step; gives what was there
  /// before, 0 outside the view. `kind`: `add`, `min`, `max` or `exchange`.
  Value* atomic(std::string_view kind, Value* view, Operand value, const AtomicOptions& options);
  /// Puts `value` where `compare` is, bit for bit.
  Value* atomic_cas(Value* view, Operand compare, Operand value, const AtomicOptions& options);

  // builder_put.cpp
  /// Moves a tile, or what a view holds, to a view of its shape at any rank; elements that one of
  /// two views doesn't have are left out. What signals that rank afterwards covers it.
  void put(Value* view, Operand source);
  void put_value(Value* view, Operand value);  ///< one element
  /// Moves what a view at any rank holds to a view of its shape: it is there behind `flush`.
  void get(Value* view, Value* source);
  /// What was put has been read, so that it may be written; what was got is there.
  void flush();
  /// Adds to each element of a view at a rank that stores reach, in no order, rounding each time.
  void accumulate(Value* view, Operand value);
  /// All copies of a window in the LSA team at once: reduced by `all_reduce_load`, written by
  /// `store`, changed by `reduce_store`. `team`: `world`, where that is one LSA team, or `lsa`.
  Value* multicast(Value* window, std::string_view team = "world");
  struct ReductionOptions {
    std::string_view op = "add";  ///< or `min`, `max`, `and`, `or`, `xor`
    /// `rank` (equal bits everywhere) or `any`; empty: `rank` for loads of windows, else `any`.
    std::string_view order = "";
    std::string_view team = "";  ///< `world` or `lsa`; empty: world, or that of the multicast view
  };
  /// All ranks' copies of a window's view, reduced.
  Value* all_reduce_load(Value* view, const ReductionOptions& options);
  Value* all_reduce_load(Value* view) { return all_reduce_load(view, {}); }
  /// Reduces into the copies of a window's view at all ranks, in no order, rounding each time.
  void reduce_store(Value* view, Operand value, const ReductionOptions& options);
  void reduce_store(Value* view, Operand value) { reduce_store(view, std::move(value), {}); }

  // builder_matmul.cpp
  struct MatmulOptions {
    /// The accumulator, of the result's dtype and shape.
    Value* acc = nullptr;
    /// Of f32 operands: `tf32` (10 bits behind the point, on tensor cores) or `ieee`. Of fp8:
    /// `fast` allows sums of 14 bits, as Hopper's tensor cores have them.
    std::string_view precision = "tf32";
    /// Views: elements of K at a time; 0: a choice of the compiler's.
    std::int64_t block_k = 0;
    /// Views: blocks in flight; a hint.
    int stages = 0;
    /// Views: what elements outside of them are, along M and N.
    std::optional<Operand> other = {};
    bool transpose_a = false;
    bool transpose_b = false;
  };
  /// acc + a · b, of tiles [M, K] and [K, N] or of views of them, whose K may be a run-time extent.
  /// Rank 3: batches in front (tiles only). Summed in f32; f64 in f64, 8-bit integers in i32.
  Value* matmul(Value* a, Value* b, const MatmulOptions& options);
  Value* matmul(Value* a, Value* b) { return matmul(a, b, {}); }

  // Element-wise: any op of the table with one or two operands.
  Value* unary(std::string_view op, Operand value);
  Value* binary(std::string_view op, Operand a, Operand b);
  Value* where(Operand condition, Operand a, Operand b);  ///< in the common dtype of a and b

  Value* fma(Operand a, Operand b, Operand c);
  /// `minimum(maximum(x, low), high)`, in the dtype of x.
  Value* clamp(Operand x, Operand low, Operand high);
  Value* isnan(Operand x);
  Value* isinf(Operand x);

  // Random numbers (builder_numbers.cpp): a function of the three alone, equal on all targets.
  /// Philox4x32-10: four 32-bit words (u32).
  std::array<Value*, 4> philox(Operand seed, Operand counter, Operand stream = std::int64_t{0});
  /// f32 in [0, 1), from the first word.
  Value* uniform(Operand seed, Operand counter, Operand stream = std::int64_t{0});

  /// The instances with one linear program id on all ranks of the team meet; with scope `grid`, all
  /// instances of all its ranks.
  void barrier(std::string_view team = "world", std::string_view scope = "instance",
               std::string_view order = "acq_rel");

  // builder_channels.cpp
  /// Puts a message into a slot, here or at a peer, when one of its buffers is free; values are
  /// cast to the channel's dtypes.
  void send(Value* slot, const std::vector<Operand>& values);
  /// The next message of one of this rank's slots: its values.
  Values recv(Value* slot);
  /// Sends a message to all ranks: `slot` is `channel[:, …]`. For each of its values a stack of
  /// those of all ranks, in rank order, this rank's own among them as its peers see it.
  Values exchange(Value* slot, const std::vector<Operand>& values);
  const std::string& channel_name(const Value* slot) const;  ///< the parameter that it is of

  // Control flow, open form (for frontends that walk a syntax tree).
  struct Loop {
    Value* index;
    Values carried;
  };
  Loop begin_for(Iterate iterate, Operand lower, Operand upper, Operand step,
                 const std::vector<Operand>& initial);
  /// The ranks of a team (kRanks), or all but this one (kPeers) from `start` on around the team.
  Loop begin_for_team(Iterate iterate, std::string_view team, Operand start,
                      const std::vector<Operand>& initial);
  Values end_for(const std::vector<Operand>& yielded);  ///< cast to the types at entry
  /// Returns the carried values as the condition sees them.
  Values begin_while(const std::vector<Operand>& initial);
  /// Ends the condition, which is tested before each iteration; the carried values for the body.
  Values begin_do(Value* condition);
  Values end_while(const std::vector<Operand>& yielded);  ///< cast to the types at entry
  void begin_if(Value* condition);                        ///< a bool scalar
  void begin_else(const std::vector<Operand>& then_values);
  Values end_if(const std::vector<Operand>& else_values);  ///< of a common type each
  /// The same, where what the then branch hands out is chosen only now; `begin_else` took nothing.
  Values end_if(const std::vector<Operand>& then_values, const std::vector<Operand>& else_values);
  /// Ends the program instance; may stand anywhere, and all of an instance's threads meet it. What
  /// a region hands out behind it doesn't matter: the other branch of an `if` decides the types,
  /// and where a loop's body ends with it, `end_for` and `end_while` take nothing.
  void return_();

  // Dividing work.
  TileGrid tiles(Operand m, Operand n, std::int64_t block_m, std::int64_t block_n,
                 const TileOrder& order = {});
  Work tile(const TileGrid& grid, Value* index);
  /// Counts this instance's arrival at one of `places` places of the launch, behind everything that
  /// it did before. A bool: whether it is the last of `count`, which sees what all of them did.
  /// Nobody waits. `places` is computed from extents of arrays and literals.
  Value* arrive(Operand place, Operand count, Operand places);
  /// At a tile (`Work::place`) of tiles with parts of K, each of which arrives once.
  Value* arrive(const TileGrid& grid, Value* place);
  /// `sizes`: a view of integers of rank 1. The groups' rows lie behind each other; a size below 0
  /// counts as 0. Nobody may write the sizes while the tiles are gone through.
  RaggedGrid ragged(Value* sizes, std::int64_t block);
  Work tile(const RaggedGrid& grid, Value* index);
  /// Whether this program instance is one of the `count` from `first` on. Until `leave_instances`,
  /// program ids and `persistent` are those among them: to be used under an `if` on the result.
  Value* enter_instances(Operand first, Operand count);
  void leave_instances();

  /// Until `end_task`: what a warp of its own does beside the rest of the instance (split_tasks).
  void begin_task();
  void end_task();

  /// The indices below `count` that no other instance of this rank's launch has taken: each takes
  /// the next one when it has done its last. Ends with `end_for`. In no other loop; inside it,
  /// barriers of instances can't meet.
  Loop begin_dynamic(Operand count, const std::vector<Operand>& initial);

  // Control flow, closed form (for C++).
  using LoopBody = std::function<std::vector<Operand>(Value* index, const Values& carried)>;
  Values for_range(Operand lower, Operand upper, Operand step, const std::vector<Operand>& initial,
                   const LoopBody& body);
  Values for_persistent(Operand count, const std::vector<Operand>& initial, const LoopBody& body);
  Values for_dynamic(Operand count, const std::vector<Operand>& initial, const LoopBody& body);
  Values for_ranks(const std::vector<Operand>& initial, const LoopBody& body);
  Values for_peers(const std::vector<Operand>& initial, const LoopBody& body);
  using Condition = std::function<Value*(const Values& carried)>;
  using WhileBody = std::function<std::vector<Operand>(const Values& carried)>;
  Values while_(const std::vector<Operand>& initial, const Condition& condition,
                const WhileBody& body);
  using Branch = std::function<std::vector<Operand>()>;
  Values if_(Value* condition, const Branch& then_branch, const Branch& else_branch);
  void instances(Operand first, Operand count, const std::function<void()>& body);
  void task(const std::function<void()>& body);

  // builder_semaphores.cpp
  /// Adds `n` to one semaphore, here or at a peer, behind everything that this instance did before.
  void signal(Value* semaphore, Operand n = std::int64_t{1});
  /// Waits until each semaphore of the view has `n` signals that nobody has waited for, and takes
  /// them. Without a `deadline`, only an abort ends it early.
  void wait(Value* view, Operand n = std::int64_t{1}, bool deadline = true);

  // builder_flags.cpp
  /// Counts one set of a flag in this launch, here or at a peer, behind everything that this
  /// instance did before. `wait` waits until each flag of a view was set `n` times.
  void set(Value* flag);

  /// Any op of the table, exactly as given: no widening, no broadcasting.
  Statement* emit(std::string_view op, Values operands, Attributes attributes = {});

  /// The finished, verified program, for any strides and alignments (`Program::facts` may be
  /// narrowed before lowering). The builder is empty afterwards.
  Program finish();

 private:
  void check_cluster(const TileOrder& order);
  Value* num_tiles(const TileGrid& grid);
  void divide_k(TileGrid& grid, const TileOrder& order);
  /// Takes the part of K off the index of a cluster of tiles, and notes it.
  Value* without_part_of_k(const TileGrid& grid, Value* index, Value* member, Work& work);
  /// `tiles`: the number of the tiles of which each index has another one; absent: none has.
  Value* non_negative(Value* index, std::optional<std::int64_t> tiles = {});
  /// A for, while or if that is not yet ended.
  struct Open {
    std::unique_ptr<Statement> statement;
    std::vector<Operand> then_values;          ///< of an if, known from begin_else on
    bool in_else = false;                      ///< in the second region, of an if or a while
    std::optional<std::int64_t> counter = {};  ///< of a dynamic loop
  };

  Value* materialise(const Operand& operand, DType dtype);
  Value* philox_word(const std::array<Operand, 3>& operands, std::int64_t word);
  Value* to_index(const Operand& operand, std::string_view what);
  /// An index along a dimension; a negative literal counts from the end, as in Python.
  Value* to_position(const Operand& operand, Value* view, int dimension);
  /// Cast, splat or broadcast to a type; fails naming `what` where neither does.
  Value* fit(const Operand& operand, const Type& type, std::string_view what);
  /// What a loop hands to its next iteration, as the type with which `entry` was entered; fails
  /// where that would lose more than precision.
  Value* carry(const Operand& next, const Value& entry);
  /// From 0; a negative axis counts from the end.
  std::int64_t to_axis(std::string_view op, const Value* tile, int axis) const;
  DType common_dtype_of(const std::vector<Operand>& operands) const;
  const Parameter& channel_of(std::string_view op, const Value* slot) const;
  void check_slot(std::string_view op, const Value* slot) const;
  Values message_of(std::string_view op, const Parameter& channel,
                    const std::vector<Operand>& values);
  void broadcast_tiles(std::vector<Index>& indices);
  Value* group_size(Value* sizes, Value* group);
  Value* next_index(std::int64_t counter);
  std::vector<std::int64_t> common_shape_of(std::string_view op,
                                            const std::vector<Operand>& operands) const;
  void report(std::string_view op, Values operands, Attributes attributes);
  Value* atomic_of(std::string_view kind, Value* view, const std::vector<Operand>& values,
                   const AtomicOptions& options);
  void require_place(std::string_view call, const Value* view) const;
  void require_static_shape(std::string_view call, const Value* view) const;
  Value* source_for(std::string_view call, Value* view, const Operand& source);
  void require_whole_window(std::string_view call, const Value* view);
  Attributes reduction(std::string_view call, const Value* view, const ReductionOptions& options,
                       std::string_view order);
  Value* matmul_of_tiles(Value* a, Value* b, const MatmulOptions& options);
  Value* matmul_of_views(Value* a, Value* b, const MatmulOptions& options);
  Value* elementwise(std::string_view op, const std::vector<Operand>& operands, DType dtype);
  Value* parameter(Parameter::Kind kind, std::string name, DType dtype,
                   std::vector<Dimension> shape);
  Value* to_count(const Operand& n, std::string_view what);
  Value* object(Parameter::Kind kind, std::string name, std::vector<Dimension> shape);
  void append(std::unique_ptr<Statement> statement);
  /// Values of these types for code that never runs.
  std::vector<Operand> unreached(const std::vector<Type>& types);
  Values enter_carried(Statement& loop, Region& region);
  Values end_loop(StatementKind kind, std::string_view call, const std::vector<Operand>& yielded);
  void yield(const std::vector<Operand>& operands, const std::vector<Type>& types,
             std::string_view what);
  Open take_open(StatementKind kind, std::string_view call);
  [[noreturn]] void fail(const std::string& message) const;

  /// The program instances of an open `enter_instances`.
  struct Instances {
    Value* id;
    Value* count;
  };

  Program program_;
  std::vector<Instances> instances_;  ///< innermost last
  std::int64_t num_counters_ = 0;
  std::int64_t num_tilings_ = 0;  ///< uses of `tiles`
  SourceLocation location_;
  std::vector<Region*> regions_;  ///< innermost last
  std::vector<Open> open_;
};

}  // namespace tilewire
