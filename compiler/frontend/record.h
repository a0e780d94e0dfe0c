#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/builder.h"

namespace tilewire {

/// A field of a record: so many elements of a dtype; no extents: one.
struct RecordField {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;

  std::int64_t num_bytes() const;
  /// The largest power of two that divides the size, 16 (the widest load of one thread) at most.
  std::int64_t alignment() const;
};

/// Several fields as the element type of a window, or of a tensor of bytes: `tw.record(…)`. Fields
/// lie in their order, each at the next multiple of its alignment. The size is rounded up to the
/// largest alignment, so that records lie behind each other without losing theirs.
class RecordType {
 public:
  /// UserError where there is no field, one has a bad shape, or two have one name.
  explicit RecordType(std::vector<RecordField> fields);

  const std::vector<RecordField>& fields() const { return fields_; }
  std::int64_t offset(std::size_t field) const { return offsets_.at(field); }
  std::int64_t alignment() const { return alignment_; }
  std::int64_t num_bytes() const { return num_bytes_; }

  /// A field of each record of `bytes`, a view of u8 that wasn't sliced, whose last dimension is
  /// the record's: a view of the other dimensions and the field's. UserError where there is none.
  Value* view(Builder& builder, Value* bytes, std::string_view field) const;

 private:
  std::vector<RecordField> fields_;
  std::vector<std::int64_t> offsets_;
  std::int64_t alignment_ = 1;
  std::int64_t num_bytes_ = 0;
};

}  // namespace tilewire
