#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace tilewire {

/// Fits `text` into a field of facts that ranks exchange, cut off where it is too long.
template <std::size_t kSize>
void copy_text(char (&to)[kSize], std::string_view text) {
  std::memset(to, 0, kSize);
  std::memcpy(to, text.data(), std::min(text.size(), kSize - 1));
}

}  // namespace tilewire
