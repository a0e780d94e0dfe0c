#include "compiler/passes/protocol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/op.h"
#include "compiler/support/sha256.h"

namespace tilewire {
namespace {

/// Whether all ranks come here equally often. What flags count is the launch, however often an
/// instance comes to a set or a wait.
bool ranks_meet_at(const Statement& statement) {
  return statement.kind == StatementKind::kOp && statement.op->resources != nullptr &&
         statement.op->resources(statement).two_sided && statement.op->meeting.tells &&
         statement.op->meeting.waits;
}

/// Finds the run-time integers on which it depends how often ranks meet.
class DecidingInputs {
 public:
  explicit DecidingInputs(const Program& program) {
    for (std::size_t i = 0; i < program.dimensions.size(); ++i) {
      inputs_[program.dimensions[i].second] = {ArgumentSlot::Kind::kExtent, static_cast<int>(i), 0};
    }
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      const Parameter& parameter = program.parameters[i];
      if (parameter.kind != Parameter::Kind::kScalar || is_float(parameter.dtype)) continue;
      inputs_[parameter.value] = {ArgumentSlot::Kind::kScalar, static_cast<int>(i), 0};
    }
    for_each_statement(program.body, [this](const Statement& statement) {
      for (const Region& region : statement.regions) {
        for (const Value* argument : region.arguments) owners_[argument] = &statement;
      }
    });
    visit(program.body);
  }

  bool contains(const ArgumentSlot& slot) const {
    for (const Value* value : found_) {
      if (inputs_.at(value) == slot) return true;
    }
    return false;
  }

 private:
  /// Whether ranks meet in the region, or instances leave the program there.
  bool visit(const Region& region) {
    bool matters = false;
    for (const auto& statement : region.statements) {
      bool inner = ranks_meet_at(*statement) || statement->kind == StatementKind::kReturn;
      for (const Region& each : statement->regions) inner |= visit(each);
      if (inner) add_decisions(*statement);
      matters |= inner;
    }
    return matters;
  }

  /// What decides whether and how often the regions of a structure run.
  static std::vector<const Value*> decisions(const Statement& structure) {
    switch (structure.kind) {
      case StatementKind::kFor:
        return {structure.operands.begin(), structure.operands.begin() + 3};
      case StatementKind::kIf:
        return {structure.operands[0]};
      case StatementKind::kWhile:
        return {structure.regions[0].statements.back()->operands[0]};
      case StatementKind::kOp:
      case StatementKind::kYield:
      case StatementKind::kReturn:
        break;
    }
    return {};
  }

  /// Decisions that depend on the rank may differ; the others follow from their inputs.
  void add_decisions(const Statement& structure) {
    for (const Value* decision : decisions(structure)) {
      seen_.clear();
      reached_.clear();
      depends_on_rank_ = false;
      trace(decision);
      if (!depends_on_rank_) found_.insert(reached_.begin(), reached_.end());
    }
  }

  void trace(const Value* value) {
    if (!seen_.insert(value).second) return;
    if (inputs_.contains(value)) reached_.insert(value);
    const auto owner = owners_.find(value);
    const Statement* from = owner != owners_.end() ? owner->second : value->definition;
    if (from == nullptr) return;
    if (from->kind == StatementKind::kOp) {
      depends_on_rank_ |= from->is("rank");
      if (effect_of(*from) != Effect::kPure) return;  // memory: what lies there is the user's
    }
    for (const Value* operand : from->operands) trace(operand);
    for (const Region& region : from->regions) {
      for (const Value* yielded : region.statements.back()->operands) trace(yielded);
    }
  }

  std::unordered_map<const Value*, ArgumentSlot> inputs_;
  std::unordered_map<const Value*, const Statement*> owners_;  ///< of regions' arguments
  std::set<const Value*> found_;
  std::unordered_set<const Value*> seen_;
  std::set<const Value*> reached_;
  bool depends_on_rank_ = false;
};

std::string signature_of(const Program& program) {
  std::vector<std::string> constants;
  for (const auto& [name, value] : program.constants) {
    constants.push_back(fmt::format("{}={}", name, to_string(value)));
  }
  return fmt::format("{}({})", program.name, fmt::join(constants, ", "));
}

std::string shape_text(const Parameter& parameter) {
  std::string text;
  for (const Dimension& dimension : parameter.shape) text += fmt::format("{},", dimension.size);
  return text;
}

}  // namespace

Protocol protocol_of(const Program& lowered, const std::vector<ArgumentSlot>& arguments,
                     const std::vector<WaitSite>& wait_sites) {
  Protocol protocol;
  protocol.name = signature_of(lowered);
  std::string text = protocol.name;
  for (const Parameter& parameter : lowered.parameters) {
    text += fmt::format("\n{} {}[{}]", static_cast<int>(parameter.kind), name_of(parameter.dtype),
                        shape_text(parameter));
  }
  for (const WaitSite& site : wait_sites) {
    text += fmt::format("\n{}:{} {}", site.location.file_name(), site.location.line, site.what);
  }
  protocol.digest = std::stoull(sha256_hex(text).substr(0, 16), nullptr, 16);
  const DecidingInputs deciding(lowered);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (deciding.contains(arguments[i])) protocol.slots.push_back(static_cast<int>(i));
  }
  return protocol;
}

}  // namespace tilewire
