#include "runtime/nccl/window.h"

#include <fmt/format.h>

#include <utility>

#include "compiler/support/error.h"
#include "runtime/nccl/window_ranges.h"

namespace tilewire {

Window::Window(std::size_t num_bytes, Place place, std::vector<device::WindowHandle> handles)
    : num_bytes_(num_bytes), place_(place), handles_(std::move(handles)) {
  add_window_range(place_.flat_base, flat_bytes());
}

Window::Window(const Window& whole, std::uint64_t offset, std::size_t num_bytes,
               std::uint64_t first_signal)
    : num_bytes_(num_bytes), place_(whole.place_), handles_(whole.handles_), is_part_(true) {
  place_.flat_base += offset;
  for (device::WindowHandle& handle : handles_) {
    handle.offset += offset;
    handle.local = static_cast<char*>(handle.local) + offset;
    handle.first_signal = first_signal;
  }
}

Window::~Window() { forget_range(); }

void Window::forget_range() noexcept {
  if (!released_ && !is_part_) remove_window_range(place_.flat_base, flat_bytes());
  released_ = true;
}

bool Window::is_reachable(int rank) const {
  return rank >= place_.first_rank && rank < place_.first_rank + place_.lsa_size;
}

void Window::release() {
  if (released_) return;
  forget_range();
  free_memory();
}

void Window::abandon() noexcept {
  if (released_) return;
  forget_range();
  leak_memory();
}

cuda::DevicePointer Window::address(int rank) const {
  if (released_) throw UserError("this window was freed, or its communicator closed");
  if (!is_reachable(rank)) {
    throw UserError(
        fmt::format("no load or store from this process reaches rank {}'s copy of the window: it "
                    "reaches ranks {} to {}",
                    rank, place_.first_rank, place_.first_rank + place_.lsa_size - 1));
  }
  return place_.flat_base + static_cast<std::uint64_t>(rank - place_.first_rank) * place_.stride;
}

}  // namespace tilewire
