#include "compiler/passes/view_access.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {
namespace {

/// The smallest multiple of `multiple` that is at least `count`.
Value* round_up(Value* count, std::int64_t multiple, Inserter& insert) {
  if (multiple == 1) return count;
  count = insert.op("add", {count, insert.constant(multiple - 1)});
  count = insert.op("floordiv", {count, insert.constant(multiple)});
  return insert.op("mul", {count, insert.constant(multiple)});
}

}  // namespace

Value* start_of_copy(const LoweredView& window, Value* launch, std::int64_t num_copies,
                     Inserter& insert) {
  const std::int64_t element_bytes = num_bytes(window.dtype);
  const auto in_elements = [&](std::uint64_t bytes) {
    return static_cast<std::int64_t>(bytes) / element_bytes;
  };
  Value* count = insert.constant(1);
  for (const ViewDimension& dimension : window.dimensions) {
    count = insert.op("mul", {count, dimension.extent.materialise(insert)});
  }
  Value* copy = round_up(count, in_elements(device::kPartAlignment), insert);
  Value* turn = insert.op("mod", {launch, insert.constant(num_copies)});
  const std::int64_t first =
      in_elements(device::rotating_offset(insert.program().world_size, 0, 0));
  return insert.op("add", {insert.op("mul", {turn, copy}), insert.constant(first)});
}

}  // namespace tilewire
