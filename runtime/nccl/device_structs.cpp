#include "runtime/nccl/device_structs.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "compiler/support/error.h"
#include "runtime/nccl/struct_fields.h"

namespace tilewire {
namespace {

template <typename Field>
Field read(std::span<const std::byte> bytes, std::uint64_t offset) {
  Field field;
  if (offset + sizeof(Field) > bytes.size()) throw InternalError("a field outside NCCL's struct");
  std::memcpy(&field, bytes.data() + offset, sizeof(Field));
  return field;
}

template <typename Field>
void write(std::span<std::byte> bytes, std::uint64_t offset, Field field) {
  if (offset + sizeof(Field) > bytes.size()) throw InternalError("a field outside NCCL's struct");
  std::memcpy(bytes.data() + offset, &field, sizeof(Field));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

NcclLayout load() {
  const NcclLayout layout = nccl_layout(*NcclHeaders::find());
  // Kernel arguments are laid out for 8.
  if (layout.device_comm_alignment > 8) {
    throw InternalError(fmt::format("ncclDevComm is aligned to {} bytes in NCCL {}",
                                    layout.device_comm_alignment, layout.version.to_string()));
  }
  return layout;
}

}  // namespace

const NcclLayout& device_layout() {
  static const NcclLayout layout = load();
  return layout;
}

WindowFields read_window_struct(const NcclLayout& layout, std::span<const std::byte> bytes) {
  return {.flat_base = read<std::uint64_t>(bytes, layout.window_lsa_flat_base),
          .stride_4g = read<std::uint32_t>(bytes, layout.window_stride_4g),
          .lsa_rank = read<std::int32_t>(bytes, layout.window_lsa_rank),
          .world_rank = read<std::int32_t>(bytes, layout.window_world_rank)};
}

std::vector<std::byte> make_window_struct(const NcclLayout& layout, const WindowFields& fields) {
  std::vector<std::byte> bytes(layout.window_bytes);
  write(bytes, layout.window_lsa_flat_base, fields.flat_base);
  write(bytes, layout.window_stride_4g, fields.stride_4g);
  write(bytes, layout.window_lsa_rank, fields.lsa_rank);
  write(bytes, layout.window_world_rank, fields.world_rank);
  return bytes;
}

std::vector<std::byte> make_device_comm(const NcclLayout& layout, int rank, int world_size) {
  std::vector<std::byte> bytes(layout.device_comm_bytes);
  write<std::int32_t>(bytes, layout.rank, rank);
  write<std::int32_t>(bytes, layout.num_ranks, world_size);
  write<std::int32_t>(bytes, layout.lsa_rank, rank);
  write<std::int32_t>(bytes, layout.lsa_size, world_size);
  return bytes;
}

int gin_contexts_of(const NcclLayout& layout, std::span<const std::byte> device_comm) {
  return static_cast<int>(
      read_field(as_text(device_comm), layout.device_comm_fields, "ginContextCount", 0));
}

std::uint64_t multicast_address_of(const NcclLayout& layout,
                                   std::span<const std::byte> device_comm) {
  // ncclMultimemHandle: a pointer and nothing else.
  return read_field(as_text(device_comm), layout.device_comm_fields, "lsaMultimem", 0);
}

}  // namespace tilewire
