#include "runtime/cpu/host_window.h"

#include <cstring>

namespace tilewire {

HostWindow::HostWindow(int world_size, std::size_t num_bytes) : num_bytes_(num_bytes) {
  for (int rank = 0; rank < world_size; ++rank) {
    copies_.push_back(make_aligned_buffer(num_bytes));
    std::memset(copies_.back().get(), 0, num_bytes);
    addresses_.push_back(reinterpret_cast<std::uint64_t>(copies_.back().get()));
  }
}

}  // namespace tilewire
