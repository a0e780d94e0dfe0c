#include "compiler/passes/legalise_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/passes/view_objects.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::array<std::string_view, 4> kViewOps = {"slice", "view", "permute", "field"};
constexpr std::array<std::string_view, 2> kLookingOps = {"extent", "inside"};

template <std::size_t kSize>
bool is_one_of(const Statement& statement, const std::array<std::string_view, kSize>& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return statement.is(name); });
}

/// Which operand of an op may lie at any rank; -1: none.
int operand_at_any_rank(const Statement& statement) {
  if (statement.is("get")) return 1;
  const bool reaches = statement.is("put") || statement.is("put_value") || statement.is("signal");
  return reaches ? 0 : -1;
}

const Parameter& parameter_of(const Value* view, const Program& program) {
  const Value* found = parameter_of(view);
  for (const Parameter& parameter : program.parameters) {
    if (parameter.value == found) return parameter;
  }
  throw InternalError("a view of no parameter");
}

Value* own_rank(Inserter& insert) {
  return insert.op("rank", {}, {{"team", std::string("world")}});
}

std::string describe(const Target& target) {
  return fmt::format("on `{}` (teams of {} in a world of {})", target.to_string(), target.lsa_size,
                     target.world_size);
}

/// What an op that needs reach does with a view.
std::string describe_use(const Statement& use) {
  if (use.kind != StatementKind::kOp) return "what chooses it";
  if (use.is("put")) return "the source of put";
  return use.is("get") ? "what get fills" : name_in_program(*use.op, use.attributes);
}

}  // namespace

Value* is_in_reach(Value* rank, const Target& target, Inserter& insert) {
  Value* size = insert.constant(target.lsa_size);
  Value* own = own_rank(insert);
  return insert.op("eq", {insert.op("floordiv", {rank, size}), insert.op("floordiv", {own, size})});
}

Value* world_rank_of(Value* rank, std::string_view team, const Target& target, Inserter& insert) {
  if (team != "lsa" && team != "rail") return rank;
  Value* size = insert.constant(target.lsa_size);
  Value* own = own_rank(insert);
  if (team == "rail") {
    return insert.op("add", {insert.op("mul", {rank, size}), insert.op("mod", {own, size})});
  }
  Value* first = insert.op("mul", {insert.op("floordiv", {own, size}), size});
  return insert.op("add", {first, rank});
}

NetworkPlaces::NetworkPlaces(const Program& program, const Target& target) : target_(target) {
  if (has_far_ranks(target)) add_uses(program.body);
}

void NetworkPlaces::add_uses(const Region& region) {
  for_each_statement(region, [this](const Statement& statement) {
    for (std::size_t i = 0; i < statement.operands.size(); ++i) {
      if (statement.operands[i]->type.is_view())
        uses_[statement.operands[i]].push_back({&statement, i});
    }
  });
}

/// The first op that needs loads and stores to reach what it is done to; null: there is none.
const Statement* NetworkPlaces::unreachable_use(const Value* view) const {
  const auto found = uses_.find(view);
  if (found == uses_.end()) return nullptr;
  for (const auto& [user, operand] : found->second) {
    if (user->kind != StatementKind::kOp) return user;
    if (is_one_of(*user, kViewOps)) {
      if (const Statement* use = unreachable_use(user->result())) return use;
    } else if (!is_one_of(*user, kLookingOps) &&
               operand_at_any_rank(*user) != static_cast<int>(operand)) {
      return user;
    }
  }
  return nullptr;
}

const Statement* NetworkPlaces::any_use(const Value* view) const {
  const auto found = uses_.find(view);
  if (found == uses_.end()) return nullptr;
  for (const Use& use : found->second) {
    if (!is_one_of(*use.user, kViewOps)) return use.user;
    if (const Statement* behind = any_use(use.user->result())) return behind;
  }
  return nullptr;
}

void NetworkPlaces::add(const Statement& at, bool is_far) {
  if (const Statement* use = unreachable_use(at.result())) {
    const bool is_array = at.operands.at(0)->type.memory == Memory::kWindow;
    if (!is_array && use->kind == StatementKind::kOp && use->op->meeting.waits) {
      refuse_wait_at_peer(*use);
    }
    throw UserError(
        fmt::format("at: {} reaches the {} ranks of the LSA team, not all {} of the world, on "
                    "`{}`; write `.at(r, team=tw.lsa)`, with r counted in that team, or put it "
                    "under `if tw.is_lsa(r):`. Any rank is reached by put, put_value, get, signal "
                    "and send",
                    describe_use(*use), target_.lsa_size, target_.world_size, target_.to_string()),
        at.location);
  }
  const Statement* use = any_use(at.result());
  if (!target_.gin && use != nullptr) {
    throw UserError(
        fmt::format(
            "{}: this rank may be out of reach of loads and stores {}, and the communicator "
            "has no network that kernels can use (GIN); write `.at(r, team=tw.lsa)`, or "
            "put it under `if tw.is_lsa(r):`",
            name_in_program(*use->op, use->attributes), describe(target_)),
        use->location);
  }
  places_[at.result()] = {
      at.operands.at(0), at.operands.at(1), at.text("team") == "rail", is_far, {}};
}

const NetworkPlaces::Place* NetworkPlaces::find(const Statement& statement) {
  if (places_.empty() || statement.kind != StatementKind::kOp) return nullptr;
  if (is_one_of(statement, kViewOps)) {
    const auto found = places_.find(statement.operands.at(0));
    if (found == places_.end()) return nullptr;
    Place place = found->second;
    place.views.push_back(&statement);
    places_[statement.result()] = std::move(place);
    return nullptr;
  }
  const int operand = operand_at_any_rank(statement);
  if (operand < 0) return nullptr;
  const auto found = places_.find(statement.operands.at(static_cast<std::size_t>(operand)));
  return found == places_.end() ? nullptr : &found->second;
}

/// The other end of a copy: this rank's own, in memory that the network may read and write.
void NetworkPlaces::check_own(const Statement& op, const Value* view,
                              const Program& program) const {
  const Parameter& parameter = parameter_of(view, program);
  if (parameter.kind == Parameter::Kind::kWindow && view_op_behind(view, "at") == nullptr) return;
  throw UserError(
      fmt::format(
          "{}: `{}` is no window of this rank's own, and the other rank may be out of reach "
          "of loads and stores {}; the network {}",
          op.op->name, parameter.name, describe(target_),
          op.is("put") ? "reads windows alone: put from one, or load the tile and put that"
                       : "writes to windows alone: get into one"),
      op.location);
}

void NetworkPlaces::check(const Statement& op, const Place& place, const Program& program) const {
  const Parameter& parameter = parameter_of(place.window, program);
  if (parameter.rotate != 0) {
    throw UserError(
        fmt::format(
            "{}: `{}` rotates, and the rank may be out of reach of loads and stores {}: the "
            "network reaches plain windows alone; leave rotate= out, and meet at a barrier "
            "before it is filled again",
            op.op->name, parameter.name, describe(target_)),
        op.location);
  }
  if (op.is("put") && op.operands[1]->type.is_view()) {
    check_own(op, op.operands[1], program);
  }
  if (op.is("get")) check_own(op, op.operands[0], program);
}

/// The place's view, made anew: at the LSA rank, or over the network.
Value* NetworkPlaces::view_at(const Place& place, bool is_near, Inserter& insert) const {
  Value* view = place.window;
  if (!is_near) {
    const std::string_view team = place.is_of_rail ? "rail" : "world";
    view = insert.op("at", {place.window, world_rank_of(place.rank, team, target_, insert)},
                     {{"team", std::string("network")}});
  } else if (!place.is_of_rail && target_.lsa_size > 1) {
    Value* rank = insert.op("mod", {place.rank, insert.constant(target_.lsa_size)});
    view = insert.op("at", {place.window, rank}, {{"team", std::string("lsa")}});
  }
  for (const Statement* made : place.views) {
    std::vector<Value*> operands = made->operands;
    operands[0] = view;
    view = insert.op(made->op->name, std::move(operands), made->attributes);
  }
  return view;
}

/// In reach, what is got is put from there.
void NetworkPlaces::append(const Statement& op, const Place& place, bool is_near,
                           Inserter insert) const {
  std::vector<Value*> operands = op.operands;
  operands[static_cast<std::size_t>(operand_at_any_rank(op))] = view_at(place, is_near, insert);
  const std::string_view name = is_near && op.is("get") ? "put" : op.op->name;
  insert.append(
      insert.program().new_op(name, std::move(operands), op.attributes, insert.location()));
}

void NetworkPlaces::legalise(const Statement& op, const Place& place, Program& program,
                             Statements& into) const {
  check(op, place, program);
  Inserter insert(program, into, op.location);
  if (place.is_far) return append(op, place, false, insert);
  auto branch = new_structure(StatementKind::kIf, op.location);
  if (place.is_of_rail) {
    Value* own = insert.op("floordiv", {own_rank(insert), insert.constant(target_.lsa_size)});
    branch->operands = {insert.op("eq", {place.rank, own})};
  } else {
    branch->operands = {is_in_reach(place.rank, target_, insert)};
  }
  branch->regions.resize(2);
  for (const bool is_near : {true, false}) {
    Region& region = branch->regions[is_near ? 0 : 1];
    append(op, place, is_near, Inserter(program, region.statements, op.location));
    region.statements.push_back(new_structure(StatementKind::kYield, op.location));
  }
  into.push_back(std::move(branch));
}

}  // namespace tilewire
