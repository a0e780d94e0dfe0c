#include "compiler/ops/memory.h"
#include "compiler/passes/view_access.h"

namespace tilewire {
namespace {

Value* both(Value* a, Value* b, Inserter& insert) {
  return a == nullptr ? b : insert.op("and", {a, b});
}

Value* scalar(const Amount& amount, Inserter& insert) { return amount.materialise(insert); }

}  // namespace

void gather(LoweredView& result, std::size_t position,
            const std::vector<const ViewDimension*>& from, const std::vector<Value*>& tiles,
            Inserter& insert) {
  Gather gather;
  gather.dimension = position;
  Value* offset = nullptr;
  Value* is_inside = nullptr;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const ViewDimension& dimension = *from[i];
    Value* index = insert.op("cast", {tiles[i]}, {{"dtype", kIndex}});
    is_inside = both(is_inside, insert.op("ge", {index, insert.constant(0)}), insert);
    is_inside = both(is_inside, insert.op("lt", {index, scalar(dimension.extent, insert)}), insert);
    if (dimension.mask) {
      Value* place = insert.op("add", {index, dimension.mask->begin});
      is_inside = both(is_inside, insert.op("ge", {place, insert.constant(0)}), insert);
      is_inside = both(is_inside, insert.op("lt", {place, dimension.mask->bound}), insert);
    }
    Value* step = insert.op("mul", {index, scalar(dimension.stride, insert)});
    offset = offset == nullptr ? step : insert.op("add", {offset, step});
    gather.strides.push_back(dimension.stride);
  }
  gather.offsets = insert.op("select", {is_inside, offset, insert.constant(TileAccess::kOutside)});
  gather.offsets->name = "offsets";
  std::vector<ViewDimension> made;
  for (const std::int64_t extent : tiles.front()->type.shape) {
    made.push_back({{extent, nullptr}, {0, nullptr}, {}, true});
  }
  result.dimensions.insert(result.dimensions.begin() + static_cast<std::ptrdiff_t>(position),
                           made.begin(), made.end());
  result.gather = std::move(gather);
}

}  // namespace tilewire
