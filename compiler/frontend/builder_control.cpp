#include <fmt/format.h>

#include <algorithm>

#include "compiler/frontend/builder.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Whether a scalar or tile has a shape that broadcasts to that of `to`.
bool can_broadcast(const Type& from, const Type& to) {
  if (from.is_scalar()) return true;
  bool fits = from.is_tile() && to.is_tile() && from.rank() <= to.rank();
  for (int i = 1; fits && i <= from.rank(); ++i) {
    const std::int64_t extent = from.shape[from.shape.size() - i];
    fits = extent == 1 || extent == to.shape[to.shape.size() - i];
  }
  return fits;
}

/// Whether what follows in the region is never reached.
bool has_returned(const Region& region) {
  return std::any_of(region.statements.begin(), region.statements.end(), [](const auto& statement) {
    if (statement->kind == StatementKind::kReturn) return true;
    return statement->kind == StatementKind::kIf && has_returned(statement->regions[0]) &&
           has_returned(statement->regions[1]);
  });
}

}  // namespace

Value* Builder::fit(const Operand& operand, const Type& type, std::string_view what) {
  auto* const* given = std::get_if<Value*>(&operand);
  if (given == nullptr || (*given)->type.is_scalar()) {
    Value* scalar = cast(operand, type.dtype);
    return type.is_tile() ? full(type.shape, scalar, type.dtype) : scalar;
  }
  Value* value = *given;
  if (value->type == type) return value;
  if (!can_broadcast(value->type, type)) {
    fail(fmt::format("{} is {}, where {} is needed", what, value->type.to_string(),
                     type.to_string()));
  }
  return broadcast(cast(value, type.dtype), type.shape);
}

Value* Builder::carry(const Operand& next, const Value& entry) {
  const DType dtype = common_dtype_of({next});
  const Type& type = entry.type;
  auto* const* given = std::get_if<Value*>(&next);
  const Type ended = given != nullptr ? (*given)->type : Type::scalar(dtype);
  const bool loses_fraction = is_float(dtype) && !is_float(type.dtype);
  const bool loses_number = dtype != DType::kBool && type.dtype == DType::kBool;
  if (loses_fraction || loses_number || !can_broadcast(ended, type)) {
    const std::string name =
        entry.name.empty() ? "a carried value" : fmt::format("`{}`", entry.name);
    fail(
        fmt::format("{} enters this loop as {} and ends it as {}: a loop's variables keep their "
                    "type, so let it begin as {}",
                    name, type.to_string(), ended.to_string(),
                    ended.is_tile()   ? "a tile of that shape and dtype, like tw.zeros(…)"
                    : is_float(dtype) ? "a float, like 0.0"
                                      : "an integer, like 0"));
  }
  return fit(next, type, "the loop's carried value");
}

std::vector<Operand> Builder::unreached(const std::vector<Type>& types) {
  std::vector<Operand> values;
  for (const Type& type : types) {
    const bool is_tile = type.is_tile();
    values.emplace_back(is_tile ? zeros(type.shape, type.dtype) : constant(false, type.dtype));
  }
  return values;
}

Builder::Open Builder::take_open(StatementKind kind, std::string_view call) {
  if (open_.empty() || open_.back().statement->kind != kind) {
    fail(fmt::format("{} without its begin", call));
  }
  Open open = std::move(open_.back());
  open_.pop_back();
  regions_.pop_back();
  return open;
}

void Builder::yield(const std::vector<Operand>& operands, const std::vector<Type>& types,
                    std::string_view what) {
  if (operands.size() != types.size()) {
    fail(
        fmt::format("{} hands out {} values, {} are carried", what, operands.size(), types.size()));
  }
  auto statement = std::make_unique<Statement>();
  statement->kind = StatementKind::kYield;
  statement->location = location_;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    statement->operands.push_back(fit(operands[i], types[i], what));
  }
  append(std::move(statement));
}

Builder::Loop Builder::begin_for(Iterate iterate, Operand lower, Operand upper, Operand step,
                                 const std::vector<Operand>& initial) {
  if (iterate == Iterate::kPersistent && !instances_.empty()) {
    iterate = Iterate::kRange;
    lower = instances_.back().id;
    step = instances_.back().count;
  }
  auto statement = std::make_unique<Statement>();
  statement->kind = StatementKind::kFor;
  statement->location = location_;
  statement->attributes.emplace("iterate", std::string(name_of(iterate)));
  statement->operands = {to_index(lower, "the lower bound of a loop"),
                         to_index(upper, "the upper bound of a loop"),
                         to_index(step, "the step of a loop")};
  statement->regions.resize(1);
  Loop loop;
  loop.index = program_.new_value(Type::scalar(kIndex));
  statement->regions[0].arguments.push_back(loop.index);
  for (const Operand& operand : initial) {
    statement->operands.push_back(materialise(operand, common_dtype_of({operand})));
  }
  loop.carried = enter_carried(*statement, statement->regions[0]);
  open_.push_back(Open{std::move(statement), {}, false});
  return loop;
}

Builder::Loop Builder::begin_for_team(Iterate iterate, std::string_view team, Operand start,
                                      const std::vector<Operand>& initial) {
  const std::int64_t size = team_size(team);
  Loop loop = begin_for(iterate, start, size, std::int64_t{1}, initial);
  if (team != "world") open_.back().statement->attributes.emplace("team", std::string(team));
  return loop;
}

Values Builder::end_for(const std::vector<Operand>& yielded) {
  if (!open_.empty() && open_.back().counter) {
    std::vector<Operand> next = {next_index(*open_.back().counter)};
    next.insert(next.end(), yielded.begin(), yielded.end());
    Values results = end_while(next);
    results.erase(results.begin());
    return results;
  }
  if (open_.empty() || open_.back().statement->kind != StatementKind::kFor) {
    fail("end_for without begin_for");
  }
  return end_loop(StatementKind::kFor, "end_for", yielded);
}

/// Opens a loop's region, with arguments for the values that it carries.
Values Builder::enter_carried(Statement& loop, Region& region) {
  Values carried;
  for (std::size_t i = loop.num_bounds(); i < loop.operands.size(); ++i) {
    const Value* initial = loop.operands[i];
    carried.push_back(program_.new_value(initial->type, initial->name));
    region.arguments.push_back(carried.back());
  }
  regions_.push_back(&region);
  return carried;
}

Values Builder::end_loop(StatementKind kind, std::string_view call,
                         const std::vector<Operand>& yielded) {
  const Statement& loop = *open_.back().statement;
  const Region& body = loop.body();
  const std::size_t num_carried = loop.operands.size() - loop.num_bounds();
  const Values carried(body.arguments.end() - static_cast<std::ptrdiff_t>(num_carried),
                       body.arguments.end());
  std::vector<Type> types;
  for (const Value* value : carried) types.push_back(value->type);
  std::vector<Operand> next = yielded;
  if (has_returned(body)) next.assign(carried.begin(), carried.end());
  for (std::size_t i = 0; i < std::min(next.size(), types.size()); ++i) {
    next[i] = carry(next[i], *carried[i]);
  }
  yield(next, types, "the loop");
  Open open = take_open(kind, call);
  for (const Value* value : carried) {
    Value* result = program_.new_value(value->type, value->name);
    result->definition = open.statement.get();
    open.statement->results.push_back(result);
  }
  const Values results = open.statement->results;
  append(std::move(open.statement));
  return results;
}

void Builder::begin_if(Value* condition) {
  if (!condition->type.is_scalar()) {
    fail(
        fmt::format("the condition of an if is {}; it takes a bool scalar: reduce it, or use "
                    "tw.where for a choice per element",
                    condition->type.to_string()));
  }
  auto statement = std::make_unique<Statement>();
  statement->kind = StatementKind::kIf;
  statement->location = location_;
  statement->operands = {cast(condition, DType::kBool)};
  statement->regions.resize(2);
  regions_.push_back(&statement->regions[0]);
  open_.push_back(Open{std::move(statement), {}, false});
}

void Builder::begin_else(const std::vector<Operand>& then_values) {
  const bool is_open = !open_.empty() && open_.back().statement->kind == StatementKind::kIf;
  if (!is_open || open_.back().in_else) fail("begin_else without begin_if");
  open_.back().then_values = then_values;
  open_.back().in_else = true;
  regions_.back() = &open_.back().statement->regions[1];
}

Values Builder::end_if(const std::vector<Operand>& then_values,
                       const std::vector<Operand>& else_values) {
  if (!open_.empty()) open_.back().then_values = then_values;
  return end_if(else_values);
}

Values Builder::end_if(const std::vector<Operand>& handed_out) {
  const bool is_open = !open_.empty() && open_.back().statement->kind == StatementKind::kIf;
  if (!is_open || !open_.back().in_else) fail("end_if without begin_else");
  std::vector<Operand> then_values = open_.back().then_values;
  std::vector<Operand> else_values = handed_out;
  Statement& branch = *open_.back().statement;
  // A branch that has returned hands out nothing: what the other does, for the sake of the form.
  const bool then_returns = has_returned(branch.regions[0]);
  const bool else_returns = has_returned(branch.regions[1]);
  if (then_returns && else_returns) {
    then_values = else_values = {};
  } else if (then_returns) {
    then_values = else_values;
  } else if (else_returns) {
    else_values = then_values;
  }
  if (then_values.size() != else_values.size()) {
    fail("the branches of an if hand out different numbers of values");
  }
  std::vector<Type> types;
  for (std::size_t i = 0; i < then_values.size(); ++i) {
    const std::vector<Operand> both = {then_values[i], else_values[i]};
    const std::vector<std::int64_t> shape = common_shape_of("if", both);
    const DType dtype = common_dtype_of(both);
    types.push_back(shape.empty() ? Type::scalar(dtype) : Type::tile(dtype, shape));
  }
  if (else_returns) else_values = unreached(types);
  yield(else_values, types, "the else branch");
  regions_.back() = &open_.back().statement->regions[0];
  if (then_returns) then_values = unreached(types);
  yield(then_values, types, "the then branch");
  Open open = take_open(StatementKind::kIf, "end_if");
  for (const Type& type : types) {
    Value* result = program_.new_value(type);
    result->definition = open.statement.get();
    open.statement->results.push_back(result);
  }
  const Values results = open.statement->results;
  append(std::move(open.statement));
  return results;
}

void Builder::return_() {
  auto statement = std::make_unique<Statement>();
  statement->kind = StatementKind::kReturn;
  statement->location = location_;
  append(std::move(statement));
}

Values Builder::for_range(Operand lower, Operand upper, Operand step,
                          const std::vector<Operand>& initial, const LoopBody& body) {
  const Loop loop = begin_for(Iterate::kRange, lower, upper, step, initial);
  return end_for(body(loop.index, loop.carried));
}

Values Builder::for_persistent(Operand count, const std::vector<Operand>& initial,
                               const LoopBody& body) {
  const Loop loop =
      begin_for(Iterate::kPersistent, std::int64_t{0}, count, std::int64_t{1}, initial);
  return end_for(body(loop.index, loop.carried));
}

Values Builder::for_ranks(const std::vector<Operand>& initial, const LoopBody& body) {
  const Loop loop =
      begin_for(Iterate::kRanks, std::int64_t{0}, world_size(), std::int64_t{1}, initial);
  return end_for(body(loop.index, loop.carried));
}

Values Builder::for_peers(const std::vector<Operand>& initial, const LoopBody& body) {
  const Loop loop =
      begin_for(Iterate::kPeers, std::int64_t{0}, world_size(), std::int64_t{1}, initial);
  return end_for(body(loop.index, loop.carried));
}

Values Builder::if_(Value* condition, const Branch& then_branch, const Branch& else_branch) {
  begin_if(condition);
  const std::vector<Operand> then_values = then_branch();
  begin_else(then_values);
  return end_if(else_branch ? else_branch() : std::vector<Operand>{});
}

}  // namespace tilewire
