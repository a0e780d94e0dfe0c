#pragma once

#include <cstddef>

#include "runtime/driver/driver.h"

namespace tilewire {

/// Rows of equal length at regular distances, from one place to another.
struct MemoryCopy {
  cuda::DevicePointer to = 0;
  cuda::DevicePointer from = 0;
  std::size_t row_bytes = 0;
  std::size_t num_rows = 1;
  std::size_t to_pitch = 0;  ///< bytes from row to row; unused where there is one
  std::size_t from_pitch = 0;
};

/// Puts a copy into `stream`, which may be captured: no multiprocessor takes part between GPUs. The
/// memory may be that of any GPU that the calling one's loads reach.
void copy_memory(const Device& device, const MemoryCopy& copy, cuda::Stream stream);

}  // namespace tilewire
