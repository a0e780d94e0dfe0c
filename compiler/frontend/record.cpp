#include "compiler/frontend/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::int64_t kMaxAlignment = 16;
constexpr std::size_t kMaxRank = 3;  // of what is loaded

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t RecordField::num_bytes() const {
  std::int64_t size = tilewire::num_bytes(dtype);
  for (const std::int64_t extent : shape) size *= extent;
  return size;
}

std::int64_t RecordField::alignment() const {
  const std::int64_t size = num_bytes();
  return std::min(size & -size, kMaxAlignment);
}

RecordType::RecordType(std::vector<RecordField> fields) : fields_(std::move(fields)) {
  if (fields_.empty()) throw UserError("a record has no fields: name at least one");
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const RecordField& field = fields_[i];
    for (std::size_t k = 0; k < i; ++k) {
      if (fields_[k].name == field.name) {
        throw UserError(fmt::format("two fields of a record are called `{}`", field.name));
      }
    }
    if (field.shape.size() > kMaxRank ||
        std::ranges::any_of(field.shape, [](std::int64_t extent) { return extent < 1; })) {
      throw UserError(
          fmt::format("field `{}` of a record has shape {}: rank 0 to 3, extents above 0",
                      field.name, shape_to_string(field.shape)));
    }
    offsets_.push_back(round_up(num_bytes_, field.alignment()));
    num_bytes_ = offsets_.back() + field.num_bytes();
    alignment_ = std::max(alignment_, field.alignment());
  }
  num_bytes_ = round_up(num_bytes_, alignment_);
}

Value* RecordType::view(Builder& builder, Value* bytes, std::string_view field) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name != field) continue;
    return builder.field(bytes, offsets_[i], fields_[i].dtype, fields_[i].shape);
  }
  throw UserError(fmt::format("the record has no field `{}`", field), builder.location());
}

}  // namespace tilewire
