#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/put.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/bounds.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/view_access.h"
#include "compiler/passes/view_check.h"
#include "compiler/passes/view_network.h"
#include "compiler/passes/view_objects.h"
#include "compiler/passes/view_staging.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::int64_t kMaxSharedOffsets = 4096;  // 32 KB
constexpr std::int64_t kMapRowBytes = 16;         // a tensor map's box is so many, or a multiple
constexpr int kWindowAlignment = 16;  // bytes, at least; what allocation of windows guarantees

class ViewLowering {
 public:
  ViewLowering(Program& program, bool checks_views)
      : program_(program),
        checks_views_(checks_views),
        bounds_(program),
        staging_(program, bounds_),
        uses_(count_uses(program.body)) {}

  void run() {
    Statements prologue;
    Inserter insert(program_, prologue, {});
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) lower_parameter(i, insert);
    region(program_.body);
    staging_.drop_unseen();
    program_.body.statements.insert(program_.body.statements.begin(),
                                    std::make_move_iterator(prologue.begin()),
                                    std::make_move_iterator(prologue.end()));
  }

 private:
  void lower_parameter(std::size_t index, Inserter& insert) {
    const Parameter& parameter = program_.parameters[index];
    if (parameter.kind == Parameter::Kind::kScalar) return;
    std::vector<Amount> extents;
    for (const Dimension& dimension : parameter.shape) {
      extents.push_back(dimension.size != kDynamic ? Amount{dimension.size, nullptr}
                                                   : Amount{kDynamic, find(dimension.name)});
    }
    const bool is_window = parameter.is_symmetric();
    const LocalFacts& facts = program_.facts;
    const bool is_contiguous =
        is_window || (index < facts.contiguous.size() && facts.contiguous[index]);
    const int known = index < facts.alignment.size() ? facts.alignment[index] : 1;
    alignments_[parameter.value] = is_window ? std::max(known, kWindowAlignment) : known;
    is_constant_[parameter.value] = parameter.is_constant;
    views_[parameter.value] = whole_view(parameter.value, extents, is_contiguous, insert);
  }

  Value* find(const std::string& name) const {
    for (const auto& [known, value] : program_.dimensions) {
      if (known == name) return value;
    }
    throw InternalError("there is no dimension " + name);
  }

  void region(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      replaced_.resolve_all(statement->operands);
      if (statement->kind != StatementKind::kOp) {
        for (Region& inner : statement->regions) this->region(inner);
        refuse_views(*statement);
        const Statement& kept = *region.statements.emplace_back(std::move(statement));
        staging_.restore_outside(kept, region.statements, replaced_);
      } else if (!lower(*statement, region.statements)) {
        if (is_staged(*statement)) staging_.stage_operands(*statement, region.statements);
        const Statement& kept = *region.statements.emplace_back(std::move(statement));
        start_copy(kept, region.statements);
        staging_.restore_outside(kept, region.statements, replaced_);
      } else {
        removed_.push_back(std::move(statement));
      }
    }
  }

  /// Where the launch's generation of a rotating window is known: its copy begins there.
  void start_copy(const Statement& statement, Statements& into) {
    if (!statement.is("generation") || statement.operands[0]->type.is_object()) return;
    Inserter insert(program_, into, statement.location);
    LoweredView& view = views_.at(statement.operands[0]);
    view.start = start_of_copy(view, statement.result(), rotation_of(view.base), insert);
  }

  std::int64_t rotation_of(const Value* window) const {
    for (const Parameter& parameter : program_.parameters) {
      if (parameter.value == window) return parameter.rotate;
    }
    throw InternalError("a generation of what is no parameter");
  }

  static void refuse_views(const Statement& statement) {
    for (const Value* operand : statement.operands) {
      if (operand->type.is_view()) {
        throw UserError(
            "a view can't be chosen by `if` or carried by a loop; choose or carry its indices, and "
            "slice with them",
            statement.location);
      }
    }
  }

  /// Whether the statement was replaced.
  bool lower(const Statement& statement, Statements& into) {
    Inserter insert(program_, into, statement.location);
    if (statement.is("at")) {
      LoweredView view = views_.at(statement.operands[0]);
      view.rank = statement.operands[1];
      view.is_over_network = statement.text("team") == "network";
      views_[statement.result()] = std::move(view);
    } else if (statement.is("multicast")) {
      LoweredView view = views_.at(statement.operands[0]);
      view.is_multicast = true;
      views_[statement.result()] = std::move(view);
    } else if (statement.is("slice")) {
      views_[statement.result()] =
          slice_view(views_.at(statement.operands[0]), slice_indices(statement), bounds_, insert);
    } else if (statement.is("extent")) {
      const auto dimension = static_cast<std::size_t>(statement.integer("dimension"));
      const LoweredView& view = views_.at(statement.operands[0]);
      replaced_.replace(statement.result(),
                        view.dimensions.at(dimension).extent.materialise(insert));
    } else if (statement.is("get") ||
               (statement.is("put") && statement.operands[1]->type.is_view())) {
      copy(statement, insert);
    } else if (statement.op->lowered != nullptr && statement.operands[0]->type.is_object()) {
      const Statement& lowered =
          lower_object_op(statement, views_.at(statement.operands[0]), checks_views_, insert);
      for (std::size_t i = 0; i < statement.results.size(); ++i) {
        lowered.results[i]->name = statement.results[i]->name;
        replaced_.replace(statement.results[i], lowered.results[i]);
      }
    } else if (statement.is("load") || statement.is("store") || statement.is("atomic") ||
               statement.is("prefetch") || statement.is("put") || statement.is("put_value") ||
               statement.is("all_reduce_load") || statement.is("reduce_store")) {
      access(statement, insert);
    } else {
      return reshape(statement, insert);
    }
    return true;
  }

  bool reshape(const Statement& statement, Inserter& insert) {
    const auto view = [&]() -> const LoweredView& { return views_.at(statement.operands[0]); };
    if (statement.is("view")) {
      std::size_t next = 2;
      const auto amounts = [&](const std::vector<std::int64_t>& known) {
        std::vector<Amount> result;
        for (const std::int64_t amount : known) {
          result.push_back(amount != kDynamic ? Amount{amount, nullptr}
                                              : Amount{kDynamic, statement.operands.at(next++)});
        }
        return result;
      };
      const std::vector<Amount> shape = amounts(statement.integers("shape"));
      views_[statement.result()] = reshaped_view(view(), statement.operands[1], shape,
                                                 amounts(statement.integers("strides")));
      if (checks_views_) {
        const LoweredView& made = views_.at(statement.result());
        check_view(made, views_.at(made.base), insert);
      }
    } else if (statement.is("permute")) {
      views_[statement.result()] = permuted_view(view(), statement.integers("order"), insert);
    } else if (statement.is("field")) {
      views_[statement.result()] =
          field_view(view(), statement.integer("offset"), statement.dtype("dtype"),
                     statement.integers("shape"), insert);
    } else if (statement.is("inside")) {
      replaced_.replace(statement.result(), inside(view(), insert));
    } else {
      return false;
    }
    return true;
  }

  void refuse_constant(const LoweredView& view, const Statement& statement) const {
    if (!is_constant_.at(view.base)) return;
    throw UserError(fmt::format("`{}` is annotated tw.constant: nobody writes it during the "
                                "launch; annotate it tw.Tensor to store to it",
                                view.base->name),
                    statement.location);
  }

  void copy(const Statement& statement, Inserter& insert) {
    const LoweredView& to = views_.at(statement.operands[0]);
    const LoweredView& from = views_.at(statement.operands[1]);
    refuse_constant(to, statement);
    copy_view(to, from, {alignments_.at(to.base), alignments_.at(from.base)}, bounds_, insert);
  }

  void access(const Statement& statement, Inserter& insert) {
    const LoweredView& view = views_.at(statement.operands[0]);
    const bool is_constant = is_constant_.at(view.base);
    if (statement.op->effect == Effect::kWrites) refuse_constant(view, statement);
    if (view.gather && statement.is("prefetch")) {
      throw UserError("a prefetch takes no index tiles: prefetch rows in a loop, or whole",
                      statement.location);
    }
    std::vector<Value*> operands;
    if (view.is_over_network) {
      operands = {view.base, view.rank, bytes_of(view, insert)};
    } else {
      operands = {address_of(view, insert)};
    }
    std::size_t next = 1;
    for (int i = num_values(statement); i > 0; --i) {
      operands.push_back(statement.operands.at(next++));
    }
    Attributes attributes = describe(view, operands);
    if (!view.guards.empty()) {
      Value* guard = view.guards.front();
      for (std::size_t i = 1; i < view.guards.size(); ++i) {
        guard = insert.op("and", {guard, view.guards[i]});
      }
      operands.push_back(guard);
      attributes["predicated"] = true;
    }
    if (view.gather) {
      operands.push_back(offsets_of(view, insert, attributes));
    }
    for (const char* flag : {"other", "where"}) {
      if (!statement.flag(flag)) continue;
      operands.push_back(statement.operands.at(next++));
      attributes[flag] = true;
    }
    const std::int64_t vector =
        vector_of(view, view.dtype, alignments_.at(view.base), bounds_, is_mappable(view.base));
    attributes["vector"] = vector;
    if (statement.is("load") && is_constant) attributes["constant"] = true;
    if (statement.has("cache") && !view.is_multicast) {
      attributes["cache"] = statement.text("cache");
    }
    if (statement.is("atomic")) describe_atomic(statement, attributes);
    if (statement.is("all_reduce_load") || statement.is("reduce_store")) {
      attributes["operation"] = operation_of(statement);
    }
    Statement& lowered =
        insert.append(program_.new_op(lowered_access(statement, view), std::move(operands),
                                      std::move(attributes), statement.location));
    if (lowered.results.empty()) return;
    Value* result = lowered.result();
    const DType dtype = statement.result()->type.dtype;  // sums of narrow floats are f32
    if (result->type.dtype != dtype) result = insert.op("cast", {result}, {{"dtype", dtype}});
    result->name = statement.result()->name;
    replaced_.replace(statement.result(), result);
    if (statement.is("load")) staging_.note_load(lowered.result(), view, views_.at(view.base));
  }

  /// What an access becomes. Those through a multicast address are reductions of all copies, and
  /// writes to all of them.
  static std::string lowered_access(const Statement& statement, const LoweredView& view) {
    if (view.is_over_network) return "network_store";
    if (statement.is("all_reduce_load")) return "multimem_load";
    if (statement.is("reduce_store")) return "multimem_reduce";
    if (view.is_multicast) return "multimem_store";
    const bool is_put = statement.is("put") || statement.is("put_value");
    return "tile_" + std::string(is_put ? "store" : statement.op->name);
  }

  /// Operands behind the view that an access brings to memory.
  static int num_values(const Statement& statement) {
    for (const char* name : {"load", "prefetch", "all_reduce_load"}) {
      if (statement.is(name)) return 0;
    }
    return statement.is("atomic") && statement.text("kind") == "cas" ? 2 : 1;
  }

  bool is_mappable(const Value* base) const {
    const std::vector<bool>& mappable = program_.facts.mappable;
    for (std::size_t i = 0; i < mappable.size(); ++i) {
      if (program_.parameters[i].value == base) return mappable[i];
    }
    return false;
  }

  void describe_atomic(const Statement& statement, Attributes& attributes) const {
    for (const char* name : {"kind", "order", "scope"}) attributes[name] = statement.text(name);
    const auto uses = uses_.find(statement.result());
    if (uses != uses_.end() && uses->second > 0) attributes["returns"] = true;
  }

  /// The offsets of an access with index tiles. They are few where a row or column has one each;
  /// so many that they would fill shared memory are repeated for the elements instead.
  static Value* offsets_of(const LoweredView& view, Inserter& insert, Attributes& attributes) {
    Value* offsets = view.gather->offsets;
    attributes["gather"] = static_cast<std::int64_t>(view.gather->dimension);
    const std::vector<std::int64_t> shape = integers(attributes, "shape");
    if (offsets->type.num_elements() <= kMaxSharedOffsets || offsets->type.shape == shape) {
      return offsets;
    }
    std::vector<std::int64_t> padded(shape.size(), 1);
    std::copy(offsets->type.shape.begin(), offsets->type.shape.end(),
              padded.begin() + static_cast<std::ptrdiff_t>(view.gather->dimension));
    offsets = insert.op("reshape", {offsets}, {{"shape", padded}});
    attributes["gather"] = std::int64_t{0};
    return insert.op("broadcast", {offsets}, {{"shape", shape}});
  }

  static const std::vector<std::int64_t>& integers(const Attributes& attributes,
                                                   std::string_view name) {
    return std::get<std::vector<std::int64_t>>(attributes.find(name)->second);
  }

  /// Shape, strides and masks of an access; appends the operands that they need.
  static Attributes describe(const LoweredView& view, std::vector<Value*>& operands) {
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> masked;
    for (const ViewDimension& dimension : view.dimensions) {
      shape.push_back(dimension.extent.constant);
      strides.push_back(dimension.stride.constant);
      masked.push_back(dimension.mask ? 1 : 0);
      if (!dimension.stride.is_constant()) operands.push_back(dimension.stride.value);
    }
    for (const ViewDimension& dimension : view.dimensions) {
      if (!dimension.mask) continue;
      operands.push_back(dimension.mask->begin);
      operands.push_back(dimension.mask->bound);
    }
    return {{"shape", shape}, {"strides", strides}, {"masked", masked}};
  }

  Program& program_;
  bool checks_views_;
  Bounds bounds_;
  ViewStaging staging_;
  std::map<const Value*, int> uses_;  ///< before anything was lowered
  Replacements replaced_;
  std::unordered_map<const Value*, LoweredView> views_;
  std::unordered_map<const Value*, int> alignments_;    ///< by parameter
  std::unordered_map<const Value*, bool> is_constant_;  ///< by parameter
  std::int64_t num_staged_ = 0;                         ///< products
  Statements removed_;  ///< kept, so that no new statement takes their address
};

}  // namespace

Program lower_views(Program program, bool checks_views) {
  ViewLowering(program, checks_views).run();
  return program;
}

}  // namespace tilewire
