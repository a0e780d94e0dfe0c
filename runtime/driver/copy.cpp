#include "runtime/driver/copy.h"

namespace tilewire {

void copy_memory(const Device& device, const MemoryCopy& copy, cuda::Stream stream) {
  if (copy.row_bytes == 0 || copy.num_rows == 0) return;
  const ContextGuard guard(device);
  const cuda::Api& api = cuda::api();
  const bool is_contiguous =
      copy.num_rows == 1 || (copy.to_pitch == copy.row_bytes && copy.from_pitch == copy.row_bytes);
  if (is_contiguous) {
    check_cuda(api.copy_bytes(copy.to, copy.from, copy.row_bytes * copy.num_rows, stream),
               "cuMemcpyDtoDAsync");
    return;
  }
  cuda::RowsCopy rows = {};
  rows.from.memory = rows.to.memory = cuda::kMemoryUnified;
  rows.from.device = copy.from;
  rows.from.pitch = copy.from_pitch;
  rows.to.device = copy.to;
  rows.to.pitch = copy.to_pitch;
  rows.row_bytes = copy.row_bytes;
  rows.num_rows = copy.num_rows;
  check_cuda(api.copy_rows(&rows, stream), "cuMemcpy2DAsync");
}

}  // namespace tilewire
