#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace tilewire {

inline constexpr std::align_val_t kBufferAlignment{64};

struct AlignedDelete {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, kBufferAlignment); }
};

/// Bytes at a multiple of 64.
using AlignedBuffer = std::unique_ptr<std::byte[], AlignedDelete>;

/// Uninitialised; at least one byte, so that the address is never null.
inline AlignedBuffer make_aligned_buffer(std::size_t num_bytes) {
  auto* bytes = ::operator new[](num_bytes > 0 ? num_bytes : 1, kBufferAlignment);
  return AlignedBuffer(static_cast<std::byte*>(bytes));
}

}  // namespace tilewire
