#include "compiler/passes/view_staging.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/jit/tensor_map.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/view_place.h"
#include "templates/tilewire/staged_layout.cuh"

namespace tilewire {
namespace {

Value* both(Value* a, Value* b, Inserter& insert) {
  return a == nullptr ? b : insert.op("and", {a, b});
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
  for (std::size_t place = first_staged_operand(matmul); place < 2 && is_possible; ++place) {
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
    matmul.attributes.erase("staged");
    matmul.attributes.erase("held");
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
  // Where a box begins in memory is a multiple of 16 bytes: the engine raises an illegal
  // instruction.
  if (!bounds_.is_multiple(found->coordinates.back(), kMapAlignment / num_bytes(view.dtype))) {
    return nullptr;
  }
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
    if (user.is("tile_store")) {
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
  const TileAccess access = TileAccess::of(store);
  if (access.dimensions.size() != 2) return false;
  const auto covers = [this](const std::optional<AccessMask>& mask,
                             const std::optional<AccessMask>& own) {
    if (!mask) return true;
    if (!own || !bounds_.is_at_least(mask->begin, 0)) return false;
    // Lines that exist end no later: bound - begin <= mask's bound - begin.
    std::optional<Linear> room =
        add_scaled(bounds_.linear(mask->bound), bounds_.linear(mask->begin), -1);
    if (room) room = add_scaled(*room, bounds_.linear(own->bound), -1);
    if (room) room = add_scaled(*room, bounds_.linear(own->begin), 1);
    return room && bounds_.is_non_negative(*room);
  };
  return covers(clip.rows, access.dimensions[0].mask) &&
         covers(clip.columns, access.dimensions[1].mask);
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

}  // namespace tilewire
