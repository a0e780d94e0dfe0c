#include "compiler/passes/view_staging.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/ops/matmul.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/view_place.h"
#include "templates/tilewire/staged_layout.cuh"

namespace tilewire {
namespace {

constexpr std::int64_t kMapRowBytes = 16;  // a map's box is so many, or a multiple

Value* both(Value* a, Value* b, Inserter& insert) {
  return a == nullptr ? b : insert.op("and", {a, b});
}

/// Whether what is stored lies as a staged product does: it is one, or computed from one element by
/// element.
bool is_of_product(const Value* tile) {
  const Statement* made = tile->definition;
  if (made == nullptr || !tile->type.is_tile()) return false;
  const auto place =
      static_cast<std::size_t>(std::ranges::find(made->results, tile) - made->results.begin());
  if (made->kind == StatementKind::kFor) {
    return is_of_product(made->body().statements.back()->operands.at(place)) ||
           is_of_product(made->operands.at(made->num_bounds() + place));
  }
  if (made->kind == StatementKind::kIf) {
    return std::ranges::any_of(made->regions, [place](const Region& branch) {
      return is_of_product(branch.statements.back()->operands.at(place));
    });
  }
  if (made->kind != StatementKind::kOp) return false;
  if (is_staged(*made)) return true;
  return made->op->is_elementwise && std::ranges::any_of(made->operands, [&](const Value* operand) {
           return operand->type.shape == tile->type.shape && is_of_product(operand);
         });
}

}  // namespace

ViewStaging::ViewStaging(Program& program, Bounds& bounds) : program_(program), bounds_(bounds) {
  for_each_statement(program.body, [this](const Statement& loop) {
    if (loop.kind != StatementKind::kFor) return;
    const Region& body = loop.body();
    for (std::size_t i = 0; i < loop.results.size(); ++i) {
      const Statement* next = body.statements.back()->operands.at(i)->definition;
      if (next != nullptr && is_staged(*next) && next->operands.size() > 2 &&
          next->operands[2] == body.arguments.at(i + 1)) {
        sums_[next] = &loop;
      }
    }
  });
}

void ViewStaging::note_load(const Value* tile, const LoweredView& view, const LoweredView& whole) {
  loaded_.emplace(tile, Loaded{view, &whole});
}

void ViewStaging::stage_operands(Statement& matmul, Statements& into) {
  Statements staged;
  Inserter insert(program_, staged, matmul.location);
  std::vector<Value*> operands = matmul.operands;
  Clip clip;
  std::int64_t offset = 0;
  bool is_possible = true;
  for (std::size_t place = 0; place < 2 && is_possible; ++place) {
    const Value* tile = operands[place];
    const auto loaded = loaded_.find(tile);
    is_possible = loaded != loaded_.end();
    if (!is_possible) break;
    operands[place] = operand_load(matmul, loaded->second, place, offset, clip, insert);
    is_possible = operands[place] != nullptr;
    offset += tile->type.num_elements() * num_bytes(tile->type.dtype);
  }
  // What a loop over K adds up is restored behind it, where its masks must be known.
  for (const auto& mask : {clip.rows, clip.columns}) {
    if (!mask || !sums_.contains(&matmul)) continue;
    is_possible =
        is_possible && is_known_outside(mask->begin, into) && is_known_outside(mask->bound, into);
  }
  if (!is_possible) {
    matmul.attributes.erase(matmul.attributes.find("staged"));
    return;
  }
  ++num_staged_;
  matmul.operands = std::move(operands);
  if (clip.rows || clip.columns) clips_[&matmul] = clip;
  std::ranges::move(staged, std::back_inserter(into));
}

/// Whether a value is none of the statements' of a region.
bool ViewStaging::is_known_outside(const Value* value, const Statements& inside) const {
  return std::ranges::none_of(
      inside, [&](const auto& statement) { return statement.get() == value->definition; });
}

/// Null where no tensor map says where the tile lies. Views may clip its lines, not its depth.
Value* ViewStaging::operand_load(const Statement& matmul, const Loaded& loaded, std::size_t place,
                                 std::int64_t offset, Clip& clip, Inserter& insert) {
  const LoweredView& view = loaded.view;
  const std::optional<MapPlace> found = place_in_map(view, *loaded.whole, bounds_, insert);
  const bool is_reachable = view.rank == nullptr || program_.lsa_size == program_.world_size;
  if (!found || !found->guards.empty() || !is_reachable) return nullptr;
  const std::size_t depth =
      depth_dimension(place, matmul.flag(place == 0 ? "transpose_a" : "transpose_b"));
  if (found->is_clipped[depth]) return nullptr;
  // Neighbours in memory go along K, or along M or N where wgmma can turn them.
  const auto last = static_cast<std::int64_t>(found->coordinates.size()) - 1;
  const Type& tile = matmul.operands.at(place)->type;
  const bool is_by_lines =
      found->dimensions[1 - depth] == last && num_bytes(view.dtype) == 2 &&
      tile.shape.at(1 - depth) * num_bytes(view.dtype) % device::kPanelRowBytes == 0;
  if (found->dimensions[depth] != last && !is_by_lines) return nullptr;
  if (found->is_clipped[1 - depth]) {
    (place == 0 ? clip.rows : clip.columns) = view.dimensions[1 - depth].mask;
  }
  std::vector<Value*> operands = {view.base};
  Attributes attributes = {{"shape", tile.shape},
                           {"dimensions", found->dimensions},
                           {"place", static_cast<std::int64_t>(place)},
                           {"product", num_staged_},
                           {"depth", static_cast<std::int64_t>(depth)},
                           {"offset", offset}};
  add_map_place(view, found->coordinates, operands, attributes);
  return insert.op("operand_load", std::move(operands), std::move(attributes));
}

void ViewStaging::add_map_place(const LoweredView& view, const std::vector<Value*>& coordinates,
                                std::vector<Value*>& operands, Attributes& attributes) const {
  if (view.rank != nullptr) {
    operands.push_back(view.rank);
    attributes["peer"] = true;
  }
  operands.insert(operands.end(), coordinates.begin(), coordinates.end());
}

void ViewStaging::restore_outside(const Statement& statement, Statements& into,
                                  Replacements& replaced) {
  Inserter insert(program_, into, statement.location);
  for (const auto& [matmul, clip] : clips_) {
    const auto sum = sums_.find(matmul);
    Value* product = matmul->result();
    Value* before = matmul->operands.size() > 2 ? matmul->operands[2] : nullptr;
    if (sum == sums_.end() ? matmul != &statement : sum->second != &statement) continue;
    if (sum != sums_.end()) {
      const Statement& ends = *statement.body().statements.back();
      const auto place = static_cast<std::size_t>(std::ranges::find(ends.operands, product) -
                                                  ends.operands.begin());
      product = statement.results.at(place);
      before = statement.operands.at(statement.num_bounds() + place);
    }
    if (before == nullptr) before = insert.constant(0.0, product->type.dtype);
    Value* exists = inside(clip, product->type, insert);
    Value* restored = insert.op("select", {exists, product, before});
    restored->name = product->name;
    replaced.replace(product, restored);
    restored_.push_back({product, restored, clip});
  }
}

void ViewStaging::drop_unseen() {
  constexpr int kMaxDepth = 32;
  Replacements dropped;
  for (const Restored& each : restored_) {
    if (is_unseen(each.restored, each.clip, kMaxDepth)) {
      dropped.replace(each.restored, each.product);
    }
  }
  if (dropped.empty()) return;
  for_each_statement(program_.body,
                     [&dropped](Statement& statement) { dropped.resolve_all(statement.operands); });
}

/// Whether each use of the tile computes element by element, and is unseen itself, or stores.
bool ViewStaging::is_unseen(const Value* tile, const Clip& clip, int depth) {
  if (depth == 0) return false;
  bool is_unseen = true;
  for_each_statement(program_.body, [&](const Statement& user) {
    if (!is_unseen || std::ranges::find(user.operands, tile) == user.operands.end()) return;
    if (user.is("staged_store")) {
      is_unseen = leaves_out(user, clip);
      return;
    }
    is_unseen = user.kind == StatementKind::kOp && user.op->is_elementwise &&
                user.result()->type.shape == tile->type.shape &&
                this->is_unseen(user.result(), clip, depth - 1);
  });
  return is_unseen;
}

/// Whether a store leaves out all lines that the clip does.
bool ViewStaging::leaves_out(const Statement& store, const Clip& clip) {
  const MapAccess access = MapAccess::of(store);
  const MapAccess::Clip own = access.clip.value_or(MapAccess::Clip{});
  const auto covers = [this](const std::optional<AccessMask>& mask, const Value* begin,
                             const Value* bound) {
    if (!mask) return true;
    if (begin == nullptr || !bounds_.is_at_least(mask->begin, 0)) return false;
    // Lines that exist end no later: bound - begin <= mask's bound - begin.
    std::optional<Linear> room =
        add_scaled(bounds_.linear(mask->bound), bounds_.linear(mask->begin), -1);
    if (room) room = add_scaled(*room, bounds_.linear(bound), -1);
    if (room) room = add_scaled(*room, bounds_.linear(begin), 1);
    return room && bounds_.is_non_negative(*room);
  };
  return covers(clip.rows, own.row, own.row_bound) &&
         covers(clip.columns, own.column, own.column_bound);
}

/// A bool tile of the product's shape.
Value* ViewStaging::inside(const Clip& clip, const Type& product, Inserter& insert) const {
  Value* exists = nullptr;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::optional<AccessMask>& mask = i == 0 ? clip.rows : clip.columns;
    if (!mask) continue;
    Value* number =
        insert.op("arange", {}, {{"start", std::int64_t{0}}, {"stop", product.shape[i]}});
    Value* at = insert.op("add", {insert.op("cast", {number}, {{"dtype", kIndex}}), mask->begin});
    Value* here =
        both(insert.op("ge", {at, insert.constant(0)}), insert.op("lt", {at, mask->bound}), insert);
    std::vector<std::int64_t> shape = {1, 1};
    shape[i] = product.shape[i];
    here = insert.op("reshape", {here}, {{"shape", shape}});
    exists = both(exists, insert.op("broadcast", {here}, {{"shape", product.shape}}), insert);
  }
  return exists;
}

bool ViewStaging::store(const Statement& store, const LoweredView& view, const LoweredView& whole,
                        Inserter& insert) {
  if (store.flag("where") || store.has("cache")) return false;
  Value* tile = store.operands.at(1);
  if (!is_mappable(view.base) || !is_of_product(tile) || tile->type.rank() != 2) return false;
  if (view.rank != nullptr && program_.lsa_size != program_.world_size) return false;
  const std::optional<MapPlace> place = place_in_map(view, whole, bounds_, insert);
  if (!place) return false;
  const auto last = static_cast<std::int64_t>(place->coordinates.size()) - 1;
  const bool is_whole = tile->type.shape[1] * num_bytes(tile->type.dtype) % kMapRowBytes == 0;
  if (place->dimensions[1] != last || !is_whole) return false;

  std::vector<Value*> operands = {view.base, tile};
  Attributes attributes = {{"dimensions", place->dimensions}};
  add_map_place(view, place->coordinates, operands, attributes);
  std::vector<std::int64_t> clipped(2);
  if (place->is_clipped[0] || place->is_clipped[1]) {
    // Threads that store along one edge have to mind the other, be it the map's.
    for (std::size_t i = 0; i < 2; ++i) clipped[i] = view.dimensions[i].mask ? 1 : 0;
    operands.push_back(address_of(view, insert));
    operands.push_back(view.dimensions[0].stride.materialise(insert));
    for (std::size_t i = 0; i < 2; ++i) {
      if (clipped[i] == 0) continue;
      operands.push_back(view.dimensions[i].mask->begin);
      operands.push_back(view.dimensions[i].mask->bound);
    }
  }
  attributes["clipped"] = std::move(clipped);
  Value* predicate = nullptr;
  for (Value* guard : place->guards) predicate = both(predicate, guard, insert);
  if (predicate != nullptr) {
    operands.push_back(predicate);
    attributes["predicated"] = true;
  }
  insert.append(
      program_.new_op("staged_store", std::move(operands), std::move(attributes), store.location));
  return true;
}

bool ViewStaging::is_mappable(const Value* parameter) const {
  const std::vector<bool>& mappable = program_.facts.mappable;
  for (std::size_t i = 0; i < mappable.size(); ++i) {
    if (program_.parameters[i].value == parameter) return mappable[i];
  }
  return false;
}

}  // namespace tilewire
