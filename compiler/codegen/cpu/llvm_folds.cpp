#include <algorithm>

#include "compiler/codegen/cpu/llvm_emitter.h"

namespace tilewire {
namespace {

std::vector<llvm::Value*> raw(const std::vector<CpuScalar>& scalars) {
  std::vector<llvm::Value*> values;
  for (const CpuScalar& scalar : scalars) values.push_back(llvm_value(scalar));
  return values;
}

std::vector<CpuScalar> with_dtypes(const std::vector<llvm::Value*>& values,
                                   const std::vector<CpuScalar>& like) {
  std::vector<CpuScalar> scalars;
  for (std::size_t i = 0; i < values.size(); ++i) scalars.push_back({values[i], like[i].dtype});
  return scalars;
}

}  // namespace

/// The dimensions other than the axis are the outer loops; along the axis the state is carried.
void LlvmEmitter::fold_in_order(const Statement& statement, const OrderedFold& fold) {
  std::vector<std::int64_t> offsets;
  for (const Value* result : statement.results) {
    offsets.push_back(result->type.is_tile() ? allocate(result->type) : -1);
  }
  if (!fold.axis) {
    const std::vector<CpuScalar> last = fold_places(statement, fold, offsets, {}, fold.initial);
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (!fold.keeps_all) define(statement.results[i], last[i]);
    }
  } else {
    const Type& tile = statement.operands[0]->type;
    const auto axis = static_cast<std::size_t>(*fold.axis);
    std::vector<Bounds> outer;
    for (std::size_t i = 0; i < tile.shape.size(); ++i) {
      if (i != axis) outer.push_back({index_constant(0), index_constant(tile.shape[i])});
    }
    loops(outer, [&](const CpuIndex& place) {
      const std::vector<CpuScalar> last =
          fold_places(statement, fold, offsets, place, fold.initial);
      for (std::size_t i = 0; i < last.size(); ++i) {
        const Value* result = statement.results[i];
        if (fold.keeps_all) continue;
        if (place.empty()) {
          define(result, last[i]);
        } else {
          store_arena(offsets[i], result->type, place, last[i]);
        }
      }
    });
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < 0) continue;
    Tile folded;
    folded.offset = offsets[i];
    folded.same_position = {offsets[i]};
    tiles_[statement.results[i]] = std::move(folded);
  }
}

/// With an axis: `place` is the other dimensions' index, and the axis is gone through. Without one:
/// `place` is the index so far, and the rest is.
std::vector<CpuScalar> LlvmEmitter::fold_places(const Statement& statement, const OrderedFold& fold,
                                                const std::vector<std::int64_t>& offsets,
                                                CpuIndex place, std::vector<CpuScalar> state) {
  const std::vector<std::int64_t>& shape = statement.operands[0]->type.shape;
  if (place.size() == shape.size()) {
    return fold_step(statement, fold, offsets, place, std::move(state));
  }
  const std::size_t axis = fold.axis ? static_cast<std::size_t>(*fold.axis) : place.size();
  const std::int64_t extent = shape[axis];
  const Values last =
      loop(index_constant(0), index_constant(extent), index_constant(1), raw(state),
           [&](llvm::Value* count, const Values& carried) {
             llvm::Value* position =
                 fold.is_reverse ? builder_.CreateSub(index_constant(extent - 1), count) : count;
             CpuIndex longer = place;
             longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(axis), as_index(position));
             return raw(fold_places(statement, fold, offsets, longer, with_dtypes(carried, state)));
           });
  return with_dtypes(last, state);
}

std::vector<CpuScalar> LlvmEmitter::fold_step(const Statement& statement, const OrderedFold& fold,
                                              const std::vector<std::int64_t>& offsets,
                                              const CpuIndex& index, std::vector<CpuScalar> state) {
  const Value* tile = statement.operands[0];
  const CpuScalar position = fold.axis ? index[static_cast<std::size_t>(*fold.axis)]
                                       : as_index(flat_index(tile->type, index));
  const std::vector<CpuScalar> next =
      fold.step(scalars_, std::move(state), element(tile, index), position);
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (fold.keeps_all) store_arena(offsets[i], statement.results[i]->type, index, next[i]);
  }
  return next;
}

}  // namespace tilewire
