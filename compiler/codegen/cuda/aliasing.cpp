#include "compiler/codegen/cuda/aliasing.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

/// The number of the tiles whose row, column or part a value counts.
void note_tiles(const Value* value, const std::set<const Value*>& inside,
                std::set<std::int64_t>& numbers) {
  const Statement* made = value->definition;
  if (made == nullptr || !made->is("non_negative") || !made->has("tiles")) return;
  if (inside.contains(value)) numbers.insert(made->integer("tiles"));
}

/// Whether a value changes from iteration to iteration by the tile alone.
bool is_of_tile(const Value* value, std::int64_t tiles, const std::set<const Value*>& inside) {
  if (!inside.contains(value)) return true;
  const Statement* made = value->definition;
  if (made == nullptr || made->kind != StatementKind::kOp) return false;
  if (made->is("non_negative") && made->has("tiles")) return made->integer("tiles") == tiles;
  return made->op->effect == Effect::kPure &&
         std::ranges::all_of(made->operands, [&](const Value* operand) {
           return is_of_tile(operand, tiles, inside);
         });
}

std::set<const Value*> values_inside(const Statement& loop) {
  std::set<const Value*> inside;
  const auto add = [&inside](const Region& region) {
    inside.insert(region.arguments.begin(), region.arguments.end());
  };
  for (const Region& region : loop.regions) {
    add(region);
    for_each_statement(region, [&](const Statement& statement) {
      inside.insert(statement.results.begin(), statement.results.end());
      for (const Region& inner : statement.regions) add(inner);
    });
  }
  return inside;
}

}  // namespace

Aliasing::Aliasing(const Program& program) : program_(program), bounds_(program) {}

bool Aliasing::conflicts(const std::set<AccessMapping>& earlier,
                         const AccessMapping& mapping) const {
  return std::ranges::any_of(earlier, [&](const AccessMapping& other) {
    return may_share_memory(program_, mapping.base, other.base) && !mapping.is_like(other);
  });
}

bool Aliasing::overtakes(const std::set<AccessMapping>& reads, const AccessMapping& write) const {
  return std::ranges::any_of(reads, [&](const AccessMapping& read) {
    return may_share_memory(program_, write.base, read.base) && !write.is_like(read) &&
           !write.is_behind(read);
  });
}

std::set<AccessMapping> Aliasing::of_another_iteration(const Statement& loop,
                                                       const std::set<AccessMapping>& mappings) {
  std::set<AccessMapping> result;
  for (AccessMapping mapping : mappings) {
    if (mapping.alone == nullptr && !stays_apart(loop, mapping)) {
      mapping.alone = mapping.offset->definition;
      if (mapping.alone == nullptr) mapping.vector = -1;
    }
    result.insert(mapping);
  }
  return result;
}

/// Whether what an access touches in one iteration of the loop, no other thread touches in
/// another: its offset goes with the loop's index in steps of at least what the tile spans.
bool Aliasing::stays_apart(const Statement& loop, const AccessMapping& mapping) {
  if (loop.kind != StatementKind::kFor) return false;
  const std::set<const Value*> inside = values_inside(loop);
  // Or always the same, by the same thread.
  if (!inside.contains(mapping.offset) || is_own_tile(mapping, inside)) return true;
  const Value* index = loop.body().arguments.at(0);
  const Linear offset = bounds_.linear(mapping.offset);
  const auto found = offset.terms.find(index);
  if (found == offset.terms.end()) return false;
  std::int64_t span = 1;
  for (std::size_t i = 0; i < mapping.shape.size(); ++i) {
    if (mapping.strides[i] < 0) return false;  // known at run time only
    span += (mapping.shape[i] - 1) * mapping.strides[i];
  }
  return std::abs(found->second) >= span &&
         std::ranges::all_of(offset.terms, [&](const auto& term) {
           return term.first == index || !inside.contains(term.first);
         });
}

/// Whether it is at the place of a tile of `tw.tiles`, of which each iteration has another one,
/// and not larger: its offset counts rows and columns of tiles, and is else the same.
bool Aliasing::is_own_tile(const AccessMapping& mapping, const std::set<const Value*>& inside) {
  if (mapping.shape.size() < 2) return false;
  const std::size_t columns = mapping.shape.size() - 1;
  const std::size_t rows = columns - 1;
  std::set<std::int64_t> by_rows;
  std::set<std::int64_t> by_columns;
  for (const auto& [value, factor] : bounds_.linear(mapping.offset).terms) {
    if (mapping.strides[columns] == 1 && factor >= mapping.shape[columns]) {
      note_tiles(value, inside, by_columns);
    }
    if (mapping.strides[rows] > 0) {
      if (factor >= mapping.shape[rows] * mapping.strides[rows]) {
        note_tiles(value, inside, by_rows);
      }
      continue;
    }
    const Statement* product = value->definition;
    if (factor != 1 || product == nullptr || !product->is("mul")) continue;
    for (const std::size_t i : {0, 1}) {
      if (product->operands[1 - i] != mapping.dynamic_strides[rows]) continue;
      for (const auto& [row, step] : bounds_.linear(product->operands[i]).terms) {
        if (step >= mapping.shape[rows]) note_tiles(row, inside, by_rows);
      }
    }
  }
  return std::ranges::any_of(by_rows, [&](std::int64_t tiles) {
    return by_columns.contains(tiles) && is_of_tile(mapping.offset, tiles, inside);
  });
}

}  // namespace tilewire
