#include "compiler/codegen/cuda/access_mapping.h"

#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/memory.h"

namespace tilewire {

AccessMapping anywhere(const Statement& statement, const Value* parameter) {
  AccessMapping mapping;
  mapping.base = parameter;
  mapping.alone = &statement;
  return mapping;
}

AccessMapping mapping_of(const Statement& statement) {
  AccessMapping mapping;
  const TileAccess access = TileAccess::of(statement);
  const Statement* address = access.pointer->definition;
  if (address != nullptr && address->is("address")) mapping.base = address->operands.front();
  const Value* tile = access.tile != nullptr ? access.tile : statement.result();
  // A scalar is read by every thread and written by one, as is what several threads hold; a gather
  // reads and writes anywhere.
  if (access.offsets != nullptr || access.dimensions.empty() || address == nullptr ||
      !address->is("address") || !tile->type.is_tile() || tile->type.layout.is_replicated()) {
    mapping.alone = &statement;
    return mapping;
  }
  mapping.offset = address->operands.back();
  for (const AccessDimension& dimension : access.dimensions) {
    mapping.shape.push_back(dimension.size);
    mapping.strides.push_back(dimension.stride);
    mapping.dynamic_strides.push_back(dimension.dynamic_stride);
  }
  mapping.kind = tile->type.layout.kind;
  mapping.vector = tile->type.layout.vector;
  mapping.lanes = tile->type.layout.lanes;
  mapping.is_by_rows = goes_as_rows(statement);
  return mapping;
}

}  // namespace tilewire
