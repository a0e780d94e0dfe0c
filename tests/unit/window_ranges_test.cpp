#include "runtime/nccl/window_ranges.h"

#include "tests/catch.h"

namespace tilewire {

TEST_CASE("addresses in windows") {
  constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
  CHECK_FALSE(is_in_window(kBase));
  add_window_range(kBase, 256);
  add_window_range(kBase + 1024, 256);
  for (const std::uint64_t inside : {0, 255, 1024, 1279}) CHECK(is_in_window(kBase + inside));
  for (const std::uint64_t outside : {256, 1023, 1280}) CHECK_FALSE(is_in_window(kBase + outside));
  CHECK_FALSE(is_in_window(kBase - 1));

  add_window_range(kBase, 256);
  remove_window_range(kBase, 256);
  CHECK(is_in_window(kBase));
  remove_window_range(kBase, 256);
  CHECK_FALSE(is_in_window(kBase));
  CHECK(is_in_window(kBase + 1024));
  remove_window_range(kBase + 1024, 256);
  CHECK_FALSE(is_in_window(kBase + 1024));
}

}  // namespace tilewire
