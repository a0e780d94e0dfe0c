#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewire {

/// Addresses at which some window of this process shows its memory, here or at a peer. Counted:
/// the same range may be added more than once. Any thread may call.
void add_window_range(std::uint64_t address, std::size_t num_bytes);
void remove_window_range(std::uint64_t address, std::size_t num_bytes) noexcept;

/// Whether an address lies in a window, so that peers may reach what is stored there. Takes a few
/// nanoseconds where it lies far from all windows.
bool is_in_window(std::uint64_t address);

}  // namespace tilewire
