#include "compiler/ops/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// So that no number of bytes or of vectors overflows.
constexpr std::int64_t kMaxTileElements = std::int64_t{1} << 20;

template <typename T>
const T& attribute(const OpCall& call, std::string_view name) {
  return std::get<T>(call.attributes.find(name)->second);
}

const Type& require(const OpCall& call, std::size_t operand, bool fits, std::string_view wanted) {
  if (!fits) {
    call.fail(fmt::format("operand {} is {}; it takes {}", operand + 1,
                          call.operands[operand].to_string(), wanted));
  }
  return call.operands[operand];
}

}  // namespace

Type infer_elementwise(const OpCall& call, std::size_t first) {
  const Type* tile = nullptr;
  for (std::size_t i = first; i < call.operands.size(); ++i) {
    const Type& type = call.operands[i];
    require(call, i, type.is_scalar() || type.is_tile(), "a scalar or a tile");
    if (type.dtype != call.operands[first].dtype) {
      call.fail(fmt::format("operands have dtypes {} and {}", name_of(call.operands[first].dtype),
                            name_of(type.dtype)));
    }
    if (!type.is_tile()) continue;
    if (tile != nullptr && tile->shape != type.shape) {
      call.fail(fmt::format("shapes {} and {} differ", shape_to_string(tile->shape),
                            shape_to_string(type.shape)));
    }
    tile = &type;
  }
  return tile != nullptr ? *tile : call.operands[first];
}

const Type& require_tile(const OpCall& call, std::size_t operand) {
  return require(call, operand, call.operands[operand].is_tile(), "a tile");
}

const Type& require_view(const OpCall& call, std::size_t operand) {
  const Type& type = call.operands[operand];
  return require(call, operand, type.is_view() && !type.is_object(),
                 "a tensor, a window or a view");
}

const Type& require_any_view(const OpCall& call, std::size_t operand) {
  return require(call, operand, call.operands[operand].is_view(), "a tensor, a window or a view");
}

const Type& require_object(const OpCall& call, std::size_t operand, Memory memory) {
  const Type& type = call.operands[operand];
  return require(call, operand, type.is_view() && type.memory == memory,
                 fmt::format("a {}", name_of(memory)));
}

const Type& require_pointer(const OpCall& call, std::size_t operand) {
  return require(call, operand, call.operands[operand].is_pointer(), "a pointer");
}

const Type& require_scalar(const OpCall& call, std::size_t operand) {
  return require(call, operand, call.operands[operand].is_scalar(), "a scalar");
}

void require_index(const OpCall& call, std::size_t operand) {
  const Type& type = call.operands[operand];
  require(call, operand, type.is_scalar() && type.dtype == kIndex, "an index (i64)");
}

void refuse_fp8(const OpCall& call, DType dtype) {
  if (!is_fp8(dtype)) return;
  call.fail(fmt::format("{} has no arithmetic of its own; cast it to f32", name_of(dtype)));
}

void require_operation(const OpCall& call, std::string_view operation) {
  static const std::vector<std::string_view> known = {"add", "min", "max", "and", "or", "xor"};
  if (std::find(known.begin(), known.end(), operation) != known.end()) return;
  call.fail(fmt::format("op=\"{}\" is unknown; one of: {}", operation, fmt::join(known, ", ")));
}

DType sum_dtype(const OpCall& call, DType dtype) {
  refuse_fp8(call, dtype);
  if (is_float(dtype)) return dtype == DType::kF64 ? dtype : DType::kF32;
  if (num_bytes(dtype) >= 4) return dtype;
  const bool is_unsigned = dtype != DType::kBool && !is_signed(dtype);
  return is_unsigned ? DType::kU32 : DType::kI32;
}

std::int64_t require_axis(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  const std::int64_t axis = integer_attribute(call, "axis");
  if (axis < 0 || axis >= tile.rank()) {
    call.fail(fmt::format("axis {} of a tile of shape {}", axis, shape_to_string(tile.shape)));
  }
  return axis;
}

std::int64_t integer_attribute(const OpCall& call, std::string_view name) {
  return attribute<std::int64_t>(call, name);
}

const std::string& text_attribute(const OpCall& call, std::string_view name) {
  return attribute<std::string>(call, name);
}

DType dtype_attribute(const OpCall& call, std::string_view name) {
  return attribute<DType>(call, name);
}

const std::vector<std::int64_t>& integers_attribute(const OpCall& call, std::string_view name) {
  return attribute<std::vector<std::int64_t>>(call, name);
}

bool flag_attribute(const OpCall& call, std::string_view name) {
  return call.attributes.find(name) != call.attributes.end() && attribute<bool>(call, name);
}

void require_tile_shape(const OpCall& call, const std::vector<std::int64_t>& shape) {
  const bool is_positive = std::all_of(shape.begin(), shape.end(), [](auto n) { return n > 0; });
  if (shape.empty() || shape.size() > 3 || !is_positive) {
    call.fail(fmt::format("{} is not the shape of a tile: rank 1 to 3, extents above 0",
                          shape_to_string(shape)));
  }
  std::int64_t rest = kMaxTileElements;
  for (const std::int64_t extent : shape) rest /= extent;
  if (rest == 0) {
    call.fail(fmt::format("a tile of {} has more than {} elements; work on smaller ones in a loop",
                          shape_to_string(shape), kMaxTileElements));
  }
}

void require_one_of(const OpCall& call, std::string_view attribute,
                    const std::vector<std::string_view>& allowed) {
  const std::string& found = text_attribute(call, attribute);
  if (std::find(allowed.begin(), allowed.end(), found) == allowed.end()) {
    call.fail(
        fmt::format("{}='{}' is unknown; one of: {}", attribute, found, fmt::join(allowed, ", ")));
  }
}

}  // namespace tilewire
