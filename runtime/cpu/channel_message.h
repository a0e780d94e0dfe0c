#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/codegen/cpu/abi.h"
#include "templates/tilewire/channel_layout.cuh"

namespace tilewire {

/// The fields of a message in a buffer, laid out as on GPUs.
class CpuMessage {
 public:
  /// `values`: what it is made of, or what it fills.
  CpuMessage(device::Carrying carrying, std::span<const CpuTile> values);

  /// Of a buffer, in whole lines.
  std::int64_t num_bytes() const { return num_bytes_; }

  /// Writes the first or the second half of a field's words.
  void write_half(std::byte* to, std::size_t field, int half, const CpuTile& value,
                  std::uint32_t sequence) const;
  bool has_arrived(const std::byte* from, std::uint32_t sequence) const;
  void read(const std::byte* from, std::size_t field, const CpuTile& value) const;
  /// What `read` gives of a value that was written.
  void copy(std::size_t field, const CpuTile& from, const CpuTile& to) const;
  void clear(std::byte* buffer) const;

  /// The first packet of a tagged message.
  static void write_sender(std::byte* to, std::uint32_t rank, std::uint32_t sequence);
  static std::uint32_t sender(const std::byte* from);

 private:
  struct Field {
    std::int64_t offset;  ///< bytes
    std::int64_t words;
    int element_bytes;
    bool is_packed;
  };
  bool has_tags() const { return carrying_ != device::Carrying::kReserved; }
  std::uint32_t wire_word(const Field& field, const CpuTile& value, std::int64_t i) const;
  void put_word(const Field& field, const CpuTile& value, std::int64_t i, std::uint32_t wire) const;

  device::Carrying carrying_;
  std::vector<Field> fields_;
  std::int64_t num_bytes_ = 0;
};

}  // namespace tilewire
