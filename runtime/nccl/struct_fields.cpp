#include "runtime/nccl/struct_fields.h"

#include <fmt/format.h>

#include <cstring>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr int kBitsOfByte = 8;

void require_inside(const NcclField& place, std::size_t num_bytes, std::string_view field) {
  if (place.num_bytes <= sizeof(std::uint64_t) && place.offset + place.num_bytes <= num_bytes) {
    return;
  }
  throw InternalError(fmt::format("field {} of {} bytes at {} in a struct of NCCL's of {} bytes",
                                  field, place.num_bytes, place.offset, num_bytes));
}

}  // namespace

void write_field(std::string& bytes, const NcclLayout& layout, const NcclFields& fields,
                 std::string_view field, std::int64_t value) {
  const auto found = fields.find(field);
  if (found == fields.end()) {
    throw BackendError(fmt::format("NCCL {}: its headers have no field {}, which they should have",
                                   layout.version.to_string(), field));
  }
  const NcclField& place = found->second;
  require_inside(place, bytes.size(), field);
  const bool fits = value >= 0 && (place.num_bytes == sizeof(value) ||
                                   (value >> (place.num_bytes * kBitsOfByte - 1)) == 0);
  if (!fits) {
    throw InternalError(fmt::format("{} = {} doesn't fit {} bytes", field, value, place.num_bytes));
  }
  std::memcpy(bytes.data() + place.offset, &value, place.num_bytes);  // both little-endian
}

std::uint64_t read_field(std::string_view bytes, const NcclFields& fields, std::string_view field,
                         std::uint64_t otherwise) {
  const auto found = fields.find(field);
  if (found == fields.end()) return otherwise;
  require_inside(found->second, bytes.size(), field);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + found->second.offset, found->second.num_bytes);
  return value;
}

}  // namespace tilewire
