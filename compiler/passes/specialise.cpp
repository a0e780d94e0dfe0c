#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "compiler/passes/bounds.h"
#include "compiler/passes/grid_bounds.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Loops over more ranks than these stay loops: unrolled code would outgrow the instruction cache.
constexpr std::int64_t kMaxUnrolledRanks = 8;

class Specialiser {
 public:
  Specialiser(Program& program, const Target& target) : program_(program), target_(target) {
    Bounds bounds(program);
    for_each_statement(program.body, [&](const Statement& statement) {
      const bool is_loop = statement.kind == StatementKind::kFor;
      if (is_loop && bounds.is_at_least(statement.operands[2], 1)) climbs_.insert(&statement);
    });
  }

  void run() { region(program_.body); }

 private:
  void region(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      replaced_.resolve_all(statement->operands);
      for (Region& inner : statement->regions) this->region(inner);
      rewrite(std::move(statement), region.statements);
    }
  }

  void rewrite(std::unique_ptr<Statement> statement, Statements& into) {
    Inserter insert(program_, into, statement->location);
    if (statement->is("rank") && team_size(statement->text("team")) == 1) {
      replaced_.replace(statement->result(), insert.constant(0));
      keep_alive_.push_back(std::move(statement));
      return;
    }
    if (statement->is("rank") && statement->text("team") == "rail") {
      Value* rank = insert.op("rank", {}, {{"team", std::string("world")}});
      Value* rail = insert.op("floordiv", {rank, insert.constant(target_.lsa_size)});
      replaced_.replace(statement->result(), rail);
      keep_alive_.push_back(std::move(statement));
      return;
    }
    if (statement->is("rank") && target_.lsa_size == target_.world_size) {
      statement->attributes["team"] = std::string("world");  // the two number ranks alike
    }
    if (statement->kind == StatementKind::kFor) {
      switch (statement->iterate()) {
        case Iterate::kRange:
          if (!climbs_.contains(statement.get())) count_iterations(*statement, insert);
          break;
        case Iterate::kPersistent:
          statement->operands[0] = insert.op("program_id", {}, {{"axis", std::int64_t{0}}});
          statement->operands[2] = insert.op("num_programs", {}, {{"axis", std::int64_t{0}}});
          break;
        case Iterate::kRanks:
        case Iterate::kPeers:
          return loop_over_ranks(std::move(statement), insert);
      }
      set_range(*statement);
    }
    insert.append(std::move(statement));
  }

  /// A loop whose step may lead downwards becomes one over the numbers of its iterations, of which
  /// there are ceil((upper - lower) / step), none for a step of 0: a division by 0 gives 0.
  void count_iterations(Statement& loop, Inserter& insert) {
    Value* lower = loop.operands[0];
    Value* step = loop.operands[2];
    Value* room = insert.op("sub", {lower, loop.operands[1]});
    std::int64_t down = 0;
    loop.operands[0] = insert.constant(0);
    if (!is_integer_constant(step, down) || down >= 0 || down == INT64_MIN) {
      loop.operands[1] = insert.op("neg", {insert.op("floordiv", {room, step})});
    } else if (down == -1) {
      loop.operands[1] = room;
    } else {
      room = insert.op("add", {room, insert.constant(-down - 1)});
      loop.operands[1] = insert.op("floordiv", {room, insert.constant(-down)});
    }
    loop.operands[2] = insert.constant(1);
    number_by(loop, [&](Inserter& inside, Value* i) {
      return inside.op("add", {lower, inside.op("mul", {i, step})});
    });
  }

  static void set_range(Statement& statement) {
    statement.attributes = {{"iterate", std::string(name_of(Iterate::kRange))}};
  }

  int team_size(std::string_view team) const {
    if (team == "local") return 1;
    if (team == "rail") return target_.world_size / target_.lsa_size;
    return team == "lsa" ? target_.lsa_size : target_.world_size;
  }

  /// This rank's number in a team of more than one.
  Value* rank_in(const std::string& team, Inserter& insert) const {
    const bool is_world = target_.lsa_size == target_.world_size;
    if (team != "rail") {
      return insert.op("rank", {}, {{"team", is_world ? std::string("world") : team}});
    }
    Value* rank = insert.op("rank", {}, {{"team", std::string("world")}});
    return insert.op("floordiv", {rank, insert.constant(target_.lsa_size)});
  }

  void loop_over_ranks(std::unique_ptr<Statement> loop, Inserter& insert) {
    const bool is_peers = loop->iterate() == Iterate::kPeers;
    const std::string team = loop->has("team") ? loop->text("team") : "world";
    const std::int64_t count = team_size(team) - (is_peers ? 1 : 0);
    PeerOrder order;
    if (is_peers && count > 0) {
      order.rank = rank_in(team, insert);
      order.team_size = team_size(team);
      std::int64_t start = 0;
      if (!is_integer_constant(loop->operands[0], start) || start % order.team_size != 0) {
        Value* size = insert.constant(order.team_size);
        order.start = insert.op("mod", {loop->operands[0], size});
        order.own = insert.op("mod", {insert.op("sub", {order.rank, order.start}), size});
      }
    }
    if (count <= kMaxUnrolledRanks) return unroll(std::move(loop), count, order, insert);
    loop->operands[0] = insert.constant(0);
    loop->operands[1] = insert.constant(count);
    loop->operands[2] = insert.constant(1);
    if (is_peers) number_by(*loop, [&](Inserter& in, Value* i) { return peer(in, i, order); });
    set_range(*loop);
    insert.append(std::move(loop));
  }

  /// The order of a loop over peers: in rank order, from `start` on around the team.
  struct PeerOrder {
    Value* rank = nullptr;  ///< this one; null: the loop is over all ranks
    std::int64_t team_size = 0;
    Value* start = nullptr;  ///< null: rank 0
    Value* own = nullptr;    ///< this rank's place, counted from `start`
  };

  /// The i-th peer: those before this rank's own place are where they are, the others come one
  /// later.
  static Value* peer(Inserter& insert, Value* i, const PeerOrder& order) {
    Value* own = order.start == nullptr ? order.rank : order.own;
    Value* is_behind = insert.op("ge", {i, own});
    Value* place = insert.op("add", {i, insert.op("cast", {is_behind}, {{"dtype", kIndex}})});
    if (order.start == nullptr) return place;
    return insert.op("mod",
                     {insert.op("add", {place, order.start}), insert.constant(order.team_size)});
  }

  /// What the body takes for the index becomes `index_of` the loop's own.
  void number_by(Statement& loop, const auto& index_of) {
    Region& body = loop.regions[0];
    Value* index = program_.new_value(Type::scalar(kIndex));
    Value* user_index = std::exchange(body.arguments[0], index);
    Statements numbered;
    Inserter insert(program_, numbered, loop.location);
    Replacements mapping;
    Value* numbered_index = index_of(insert, index);
    mapping.replace(user_index, numbered_index);
    if (numbered_index->name.empty()) numbered_index->name = user_index->name;
    for (auto& statement : clone_statements(program_, body, mapping)) {
      numbered.push_back(std::move(statement));
    }
    body.statements = std::move(numbered);
  }

  void unroll(std::unique_ptr<Statement> loop, std::int64_t count, const PeerOrder& order,
              Inserter& insert) {
    const Region& body = loop->regions[0];
    std::vector<Value*> carried(loop->operands.begin() + 3, loop->operands.end());
    for (std::int64_t i = 0; i < count; ++i) {
      Replacements mapping;
      Value* index = insert.constant(i);
      if (order.rank != nullptr) {
        index = peer(insert, index, order);
        index->name = body.arguments[0]->name;
      }
      mapping.replace(body.arguments[0], index);
      for (std::size_t k = 0; k < carried.size(); ++k) {
        mapping.replace(body.arguments[k + 1], carried[k]);
      }
      Statements copies = clone_statements(program_, body, mapping);
      carried = copies.back()->operands;
      copies.pop_back();  // yield
      for (auto& copy : copies) insert.append(std::move(copy));
    }
    for (std::size_t k = 0; k < carried.size(); ++k) {
      if (carried[k]->name.empty()) carried[k]->name = loop->results[k]->name;
      replaced_.replace(loop->results[k], carried[k]);
    }
    keep_alive_.push_back(std::move(loop));
  }

  Program& program_;
  const Target& target_;
  Replacements replaced_;
  std::unordered_set<const Statement*> climbs_;  ///< loops with a step above 0
  Statements keep_alive_;  ///< replaced ones, so that no new statement takes their address
};

}  // namespace

Program specialise(Program program, const Target& target) {
  if (program.world_size != target.world_size || program.lsa_size != target.lsa_size) {
    throw UserError(
        fmt::format("program `{}` was made for world={},lsa={} and can't be compiled for `{}`",
                    program.name, program.world_size, program.lsa_size, target.to_string()));
  }
  bound_grid(program);
  Specialiser(program, target).run();
  return program;
}

}  // namespace tilewire
