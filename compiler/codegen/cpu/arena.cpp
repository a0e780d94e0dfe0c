#include "compiler/codegen/cpu/arena.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace tilewire {

std::int64_t Arena::allocate(std::int64_t num_bytes) {
  const std::int64_t needed = (num_bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::int64_t offset = 0;
  for (const auto& [begin, size] : used_) {
    if (begin - offset >= needed) break;
    offset = begin + size;
  }
  used_.emplace(offset, needed);
  end_ = std::max(end_, offset + needed);
  return offset;
}

void Arena::release(std::int64_t offset) {
  if (used_.erase(offset) == 0) throw InternalError("arena space was released twice");
}

}  // namespace tilewire
