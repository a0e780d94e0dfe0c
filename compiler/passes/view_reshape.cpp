#include "compiler/passes/view_access.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// bytes / size, where the quotient is whole.
Amount in_elements(const Amount& bytes, std::int64_t size, Inserter& insert) {
  if (size == 1) return bytes;
  if (bytes.is_constant()) return {bytes.constant / size, nullptr};
  return {kDynamic, insert.op("floordiv", {bytes.value, insert.constant(size)})};
}

/// A tile of extents 1 but for dimension `at`, repeated to `shape`.
Value* along(Value* tile, std::size_t at, std::size_t count, const std::vector<std::int64_t>& shape,
             Inserter& insert) {
  if (tile->type.shape == shape) return tile;
  std::vector<std::int64_t> padded(shape.size(), 1);
  for (std::size_t i = 0; i < count; ++i) padded[at + i] = shape[at + i];
  if (tile->type.shape != padded) tile = insert.op("reshape", {tile}, {{"shape", padded}});
  return padded == shape ? tile : insert.op("broadcast", {tile}, {{"shape", shape}});
}

Value* both(Value* a, Value* b, Inserter& insert) {
  return a == nullptr ? b : insert.op("and", {a, b});
}

}  // namespace

LoweredView reshaped_view(const LoweredView& view, Value* offset, const std::vector<Amount>& shape,
                          const std::vector<Amount>& strides) {
  LoweredView result = view;
  result.terms.push_back({offset, {1, nullptr}});
  result.dimensions.clear();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    result.dimensions.push_back({shape[i], strides[i], {}, false});
  }
  return result;
}

LoweredView permuted_view(const LoweredView& view, const std::vector<std::int64_t>& order,
                          const Inserter& insert) {
  LoweredView result = view;
  result.dimensions.clear();
  std::int64_t last_gathered = -1;
  for (const std::int64_t axis : order) {
    const ViewDimension& dimension = view.dimensions.at(static_cast<std::size_t>(axis));
    if (dimension.is_gathered) {
      if (last_gathered >= 0 && axis != last_gathered + 1) {
        throw UserError(
            "the dimensions of an index tile of rank 2 or more can't be reordered in a view: "
            "transpose the index tile, or what was loaded",
            insert.location());
      }
      if (last_gathered < 0) result.gather->dimension = result.dimensions.size();
      last_gathered = axis;
    }
    result.dimensions.push_back(dimension);
  }
  return result;
}

LoweredView field_view(const LoweredView& bytes, std::int64_t offset, DType dtype,
                       const std::vector<std::int64_t>& shape, Inserter& insert) {
  if (!bytes.terms.empty() || bytes.gather || bytes.dimensions.back().stride.value != nullptr ||
      bytes.dimensions.back().stride.constant != 1) {
    throw UserError(
        "a field is taken of the whole tensor or window, and sliced then; its bytes "
        "must lie without gaps",
        insert.location());
  }
  LoweredView result = bytes;
  result.dtype = dtype;
  result.byte_offset = offset;
  result.dimensions.pop_back();
  for (ViewDimension& dimension : result.dimensions) {
    dimension.stride = in_elements(dimension.stride, num_bytes(dtype), insert);
    dimension.source = ViewDimension::kNoDimension;
  }
  std::int64_t stride = 1;
  for (const std::int64_t extent : shape) stride *= extent;
  for (const std::int64_t extent : shape) {
    stride /= extent;
    result.dimensions.push_back({{extent, nullptr}, {stride, nullptr}, {}, false});
  }
  return result;
}

Value* inside(const LoweredView& view, Inserter& insert) {
  std::vector<std::int64_t> shape;
  for (const ViewDimension& dimension : view.dimensions) shape.push_back(dimension.extent.constant);
  Value* exists = nullptr;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto& mask = view.dimensions[i].mask;
    if (!mask) continue;
    Value* number = insert.op("arange", {}, {{"start", std::int64_t{0}}, {"stop", shape[i]}});
    Value* place =
        insert.op("add", {insert.op("cast", {number}, {{"dtype", kIndex}}), mask->begin});
    Value* here = both(insert.op("ge", {place, insert.constant(0)}),
                       insert.op("lt", {place, mask->bound}), insert);
    exists = both(exists, along(here, i, 1, shape, insert), insert);
  }
  if (view.gather) {
    Value* here = insert.op("ne", {view.gather->offsets, insert.constant(TileAccess::kOutside)});
    const auto count = static_cast<std::size_t>(view.gather->offsets->type.rank());
    exists = both(exists, along(here, view.gather->dimension, count, shape, insert), insert);
  }
  Value* guard = nullptr;
  for (Value* each : view.guards) guard = both(guard, each, insert);
  if (guard == nullptr && exists == nullptr) guard = insert.constant(true, DType::kBool);
  if (guard == nullptr) return exists;
  if (exists == nullptr && shape.empty()) return guard;
  Value* everywhere = shape.empty() ? guard : insert.op("full", {guard}, {{"shape", shape}});
  return both(exists, everywhere, insert);
}

}  // namespace tilewire
