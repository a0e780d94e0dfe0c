#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/attribute.h"
#include "compiler/ir/object.h"
#include "compiler/ir/type.h"
#include "compiler/support/source_location.h"

namespace tilewire {

struct OpInfo;  // compiler/ops/op.h
class Statement;

/// An SSA value: the result of a statement, or an argument of a region.
struct Value {
  Type type;
  std::string name;                 ///< the user's name for it, a hint; printing makes names unique
  Statement* definition = nullptr;  ///< null for region arguments
  std::size_t number = 0;           ///< of its program's values, in the order they were made
};

/// A sequence of statements with arguments. The body of a program, of a loop, of a branch.
struct Region {
  std::vector<Value*> arguments;
  std::vector<std::unique_ptr<Statement>> statements;
};

/// The closed set of structures. Everything else is an op from the table (`compiler/ops`).
enum class StatementKind : std::uint8_t {
  kOp,      ///< results = op(operands) {attributes}
  kFor,     ///< operands: lower, upper, step, then initial values; one region with arguments
            ///< (index, carried…), ended by yield; results: the carried values after the loop.
            ///< How it iterates is attribute "iterate": see `Iterate`.
  kWhile,   ///< operands: initial values; two regions with the carried values as arguments. The
            ///< first yields one bool: whether the second, which yields the next values, runs
            ///< (again); results: the carried values after the loop.
  kIf,      ///< operand: a bool scalar; two regions, each ended by yield; results: what they yield
  kYield,   ///< ends a region; operands: the values handed out
  kReturn,  ///< ends the program instance, in whatever regions it stands
};

/// How a `for` goes through its index. kPersistent, kRanks and kPeers become kRange in the
/// specialise pass, unrolled where the design says so.
enum class Iterate : std::uint8_t {
  kRange,       ///< lower, lower + step, … while below upper (above it where the step is negative;
                ///< no iteration where it is 0). After specialise every step is positive.
  kPersistent,  ///< program_id, program_id + num_programs, …: lower and step are 0 and 1 in the IR
  kRanks,       ///< every rank of the team, in rank order
  kPeers,       ///< every other rank of the team, in rank order
};
std::string_view name_of(Iterate iterate);

class Statement {
 public:
  StatementKind kind = StatementKind::kOp;
  const OpInfo* op = nullptr;  ///< for kOp
  std::vector<Value*> operands;
  std::vector<Value*> results;
  Attributes attributes;
  std::vector<Region> regions;
  SourceLocation location;

  Value* result() const { return results.at(0); }
  bool is(std::string_view op_name) const;
  /// Whether it is an `if` on what an op of that name says.
  bool branches_on(std::string_view op_name) const;

  /// Attributes with a type check; InternalError where one is missing or of another type.
  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const;  ///< false where absent
  const std::string& text(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  bool has(std::string_view name) const { return attributes.find(name) != attributes.end(); }

  Iterate iterate() const;  ///< for kFor

  /// How many operands of a loop stand before its initial values.
  std::size_t num_bounds() const { return kind == StatementKind::kFor ? 3 : 0; }
  /// The region of a loop that yields the next carried values.
  Region& body() { return regions.back(); }
  const Region& body() const { return regions.back(); }
};

/// One extent of a parameter: static, or named by a dimension of the program (`"T"`).
struct Dimension {
  std::int64_t size = kDynamic;
  std::string name;  ///< set where size is kDynamic
  bool operator==(const Dimension&) const = default;
};

struct Parameter {
  enum class Kind : std::uint8_t { kTensor, kWindow, kScalar, kSemaphore, kFlag, kChannel };
  std::string name;
  Kind kind = Kind::kTensor;
  DType dtype = DType::kF32;     ///< of objects: `object_dtype`
  std::vector<Dimension> shape;  ///< row-major; empty for scalars
  Value* value = nullptr;        ///< the body's argument
  bool is_constant = false;      ///< a tensor that nobody writes during a launch (`tw.constant`)
  std::int64_t rotate = 0;       ///< a window of so many copies, of which each launch sees the next
  ChannelType channel;           ///< of kChannel

  /// An array of synchronisation objects: its extents are static.
  bool is_object() const { return kind >= Kind::kSemaphore; }
  /// Every launch that takes it counts in its state (LaunchState in object_layout.cuh).
  bool is_launch_wide() const { return kind == Kind::kFlag || rotate != 0; }
  /// Symmetric memory, of which the kernel gets a WindowHandle.
  bool is_symmetric() const { return kind == Kind::kWindow || is_object(); }
};

/// `tensor`, `window`, `scalar`, `semaphore`, `flag`, `channel`.
std::string_view name_of(Parameter::Kind kind);
/// What views of such a parameter look at; of a scalar, nothing (kTensor).
Memory memory_of(Parameter::Kind kind);
/// The type of the parameter's value.
Type type_of(const Parameter& parameter);

/// What bounds the number of useful program instances: the extent of a run-time dimension, divided
/// by `number` and rounded up; `number` itself where `dimension` is kNone.
struct GridBound {
  static constexpr int kNone = -1;
  int dimension = kNone;  ///< index into `Program::dimensions`
  std::int64_t number = 1;
  bool operator==(const GridBound&) const = default;
};

/// What is known about a launch's arguments on this rank only: it may change code, never the
/// protocol between ranks (slots, barriers, resources).
struct LocalFacts {
  /// Parameter index → strides are those of a contiguous row-major array.
  std::vector<bool> contiguous;
  /// Parameter index → the address is a multiple of this many bytes (16 at most is used).
  std::vector<int> alignment;
  /// Parameter index → a tensor whose memory is in no window: no peer can see what is stored there.
  std::vector<bool> local_only;
  /// Parameter index → a tensor map can describe this rank's copy (`is_mappable`), its last
  /// dimension innermost. Of a window that rotates: each of its copies.
  std::vector<bool> mappable;
  bool operator==(const LocalFacts&) const = default;
};

/// A program over tiles for one signature: dtypes, static extents and constants are fixed, and so
/// is the world that shapes may depend on. Owns all values.
class Program {
 public:
  std::string name;
  std::string source_file;  ///< as the user's interpreter names it
  int world_size = 1;       ///< what `builder.world_size()` answered
  int lsa_size = 1;
  std::int64_t cluster_size = 1;  ///< program instances that are launched side by side
  std::vector<Parameter> parameters;
  std::vector<std::pair<std::string, Value*>> dimensions;    ///< run-time extents, `index` scalars
  std::vector<std::pair<std::string, Attribute>> constants;  ///< `tw.const` parameters
  LocalFacts facts;
  int num_threads = 0;  ///< per CTA; 0 until the layout pass chose it
  /// More program instances than the largest of these are useless, on every rank alike. Empty: no
  /// bound. Set by the specialise pass, as the next.
  std::vector<GridBound> useful_grid;
  /// More would index arrays of objects outside of their extents; 0: no bound.
  std::int64_t max_grid = 0;
  Region body;  ///< arguments: parameters, then dimensions

  Program() = default;
  Program(Program&&) noexcept = default;
  Program& operator=(Program&&) noexcept = default;

  Value* new_value(Type type, std::string name = {});
  /// An op statement with fresh results whose types `OpInfo::infer` gave; not yet in a region.
  std::unique_ptr<Statement> new_op(std::string_view op, std::vector<Value*> operands,
                                    Attributes attributes, SourceLocation location);

 private:
  std::vector<std::unique_ptr<Value>> values_;
};

/// Calls `visit(statement)` on every statement, outer before inner, in program order.
template <typename Visit>
void for_each_statement(const Region& region, const Visit& visit) {
  for (const auto& statement : region.statements) {
    visit(*statement);
    for (const Region& inner : statement->regions) for_each_statement(inner, visit);
  }
}

/// Values → number of operands that name them.
std::map<const Value*, int> count_uses(const Region& region);

}  // namespace tilewire
