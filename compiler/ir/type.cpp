#include "compiler/ir/type.h"

#include <fmt/format.h>

#include <utility>

namespace tilewire {

std::string_view name_of(Memory memory) {
  switch (memory) {
    case Memory::kTensor:
      return "tensor";
    case Memory::kWindow:
      return "window";
    case Memory::kSemaphore:
      return "semaphore";
    case Memory::kFlag:
      return "flag";
    case Memory::kChannel:
      return "channel";
  }
  return {};
}

bool is_object(Memory memory) { return memory != Memory::kTensor && memory != Memory::kWindow; }

DType object_dtype(Memory memory) {
  switch (memory) {
    case Memory::kSemaphore:
      return DType::kU64;
    case Memory::kFlag:
      return DType::kU32;
    case Memory::kTensor:
    case Memory::kWindow:
    case Memory::kChannel:
      return DType::kU8;
  }
  return DType::kU8;
}

std::string Layout::to_string() const {
  switch (kind) {
    case Kind::kBlocked:
      return fmt::format("vector {}", vector);
    case Kind::kRows:
      return fmt::format("vector {}, rows {}", vector, lanes);
    case Kind::kPerRow:
      return fmt::format("vector {}, per_row {}", vector, lanes);
    case Kind::kPerColumn:
      return fmt::format("vector {}, per_column {}", vector, lanes);
    case Kind::kFragment:
      return fmt::format("vector {}, fragment", vector);
    case Kind::kFragmentPerRow:
      return fmt::format("vector {}, fragment_per_row", vector);
    case Kind::kFragmentPerColumn:
      return fmt::format("vector {}, fragment_per_column", vector);
    case Kind::kStaged:
      return fmt::format("vector {}, staged", vector);
  }
  return {};
}

Type Type::scalar(DType dtype) {
  Type type;
  type.dtype = dtype;
  return type;
}

Type Type::tile(DType dtype, std::vector<std::int64_t> shape, Layout layout) {
  Type type;
  type.kind = Kind::kTile;
  type.dtype = dtype;
  type.shape = std::move(shape);
  type.layout = layout;
  return type;
}

Type Type::view(DType dtype, std::vector<std::int64_t> shape, Memory memory) {
  Type type;
  type.kind = Kind::kView;
  type.dtype = dtype;
  type.shape = std::move(shape);
  type.memory = memory;
  return type;
}

Type Type::object(Memory memory, std::vector<std::int64_t> shape) {
  return view(object_dtype(memory), std::move(shape), memory);
}

Type Type::pointer(DType dtype) {
  Type type;
  type.kind = Kind::kPointer;
  type.dtype = dtype;
  return type;
}

std::int64_t Type::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

Type Type::with_dtype(DType new_dtype) const {
  Type type = *this;
  type.dtype = new_dtype;
  return type;
}

std::string Type::to_string() const {
  switch (kind) {
    case Kind::kScalar:
      return std::string(name_of(dtype));
    case Kind::kTile:
      return fmt::format("tile<{}{}{}>", name_of(dtype), shape_to_string(shape),
                         layout.is_known() ? ", " + layout.to_string() : "");
    case Kind::kView:
      return fmt::format("{}<{}{}>", memory == Memory::kTensor ? "view" : name_of(memory),
                         is_object() ? "" : name_of(dtype), shape_to_string(shape));
    case Kind::kPointer:
      return fmt::format("pointer<{}>", name_of(dtype));
  }
  return {};
}

std::string shape_to_string(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] == kDynamic ? "?" : std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace tilewire
