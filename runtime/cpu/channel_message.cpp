#include "runtime/cpu/channel_message.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/dtype.h"

namespace tilewire {
namespace {

using device::kWordBytes;

std::uint32_t load_word(const std::byte* from) {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(from), __ATOMIC_ACQUIRE);
}

void store_word(std::byte* to, std::uint32_t word) {
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(to), word, __ATOMIC_RELEASE);
}

/// The last extent that isn't 1.
std::int64_t row_of(const CpuTile& tile) {
  for (std::int64_t i = tile.rank; i-- > 0;) {
    if (tile.shape[i] != 1) return tile.shape[i];
  }
  return 1;
}

}  // namespace

CpuMessage::CpuMessage(device::Carrying carrying, std::span<const CpuTile> values)
    : carrying_(carrying) {
  std::int64_t offset = carrying == device::Carrying::kTagged ? device::kSenderBytes : 0;
  for (const CpuTile& value : values) {
    const int bytes = tilewire::num_bytes(static_cast<DType>(value.dtype));
    const bool is_packed = device::is_packed(row_of(value), bytes);
    const std::int64_t words = device::field_words(value.num_elements(), bytes, is_packed);
    fields_.push_back({offset, words, bytes, is_packed});
    offset += device::field_bytes(words, carrying);
  }
  num_bytes_ = device::up_to_line(offset);
}

std::uint32_t CpuMessage::wire_word(const Field& field, const CpuTile& value,
                                    std::int64_t i) const {
  const auto* data = static_cast<const std::byte*>(value.data);
  std::uint32_t word = 0;
  if (field.is_packed) {
    std::memcpy(&word, data + i * kWordBytes, kWordBytes);
  } else {
    std::memcpy(&word, data + i * field.element_bytes,
                static_cast<std::size_t>(field.element_bytes));
  }
  if (has_tags()) return word;
  if (field.element_bytes < 8) return device::to_wire(word, field.element_bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, data + i / 2 * 8, 8);
  return static_cast<std::uint32_t>(device::to_wire(bits) >> (i % 2 * 32));
}

void CpuMessage::put_word(const Field& field, const CpuTile& value, std::int64_t i,
                          std::uint32_t wire) const {
  auto* data = static_cast<std::byte*>(value.data);
  std::uint32_t word = wire;
  if (!has_tags()) {
    constexpr std::uint32_t kTop = std::uint32_t{1} << 31;
    word = field.element_bytes < 8 ? device::from_wire(wire, field.element_bytes)
                                   : wire ^ (i % 2 == 1 ? kTop : 0);
  }
  if (field.is_packed) {
    std::memcpy(data + i * kWordBytes, &word, kWordBytes);
  } else {
    std::memcpy(data + i * field.element_bytes, &word,
                static_cast<std::size_t>(field.element_bytes));
  }
}

void CpuMessage::write_half(std::byte* to, std::size_t index, int half, const CpuTile& value,
                            std::uint32_t sequence) const {
  const Field& field = fields_[index];
  const std::int64_t middle = field.words / 2 / 2 * 2;  // the words of an f64 travel together
  const std::int64_t end = half == 0 ? middle : field.words;
  for (std::int64_t i = half == 0 ? 0 : middle; i < end; ++i) {
    const std::uint32_t word = wire_word(field, value, i);
    std::byte* place = to + field.offset + i * kWordBytes * (has_tags() ? 2 : 1);
    store_word(place, word);
    if (has_tags()) store_word(place + kWordBytes, sequence);
  }
}

bool CpuMessage::has_arrived(const std::byte* from, std::uint32_t sequence) const {
  return std::ranges::all_of(fields_, [&](const Field& field) {
    for (std::int64_t i = 0; i < field.words; ++i) {
      const std::byte* place = from + field.offset + i * kWordBytes * (has_tags() ? 2 : 1);
      if (has_tags()) {
        if (load_word(place + kWordBytes) != sequence) return false;
      } else if (field.element_bytes == 8) {
        if (load_word(place) == 0 &&
            load_word(place + (i % 2 == 0 ? kWordBytes : -kWordBytes)) == 0)
          return false;
      } else if (load_word(place) == 0) {
        return false;
      }
    }
    return true;
  });
}

void CpuMessage::read(const std::byte* from, std::size_t index, const CpuTile& value) const {
  const Field& field = fields_[index];
  for (std::int64_t i = 0; i < field.words; ++i) {
    const std::byte* place = from + field.offset + i * kWordBytes * (has_tags() ? 2 : 1);
    put_word(field, value, i, load_word(place));
  }
}

void CpuMessage::copy(std::size_t index, const CpuTile& from, const CpuTile& to) const {
  const Field& field = fields_[index];
  for (std::int64_t i = 0; i < field.words; ++i) {
    put_word(field, to, i, wire_word(field, from, i));
  }
}

void CpuMessage::clear(std::byte* buffer) const {
  std::memset(buffer, 0, static_cast<std::size_t>(num_bytes_));
}

void CpuMessage::write_sender(std::byte* to, std::uint32_t rank, std::uint32_t sequence) {
  store_word(to, rank);
  store_word(to + kWordBytes, sequence);
}

std::uint32_t CpuMessage::sender(const std::byte* from) { return load_word(from); }

}  // namespace tilewire
