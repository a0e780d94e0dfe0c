#pragma once

#include <vector>

#include "templates/tilewire/layout.cuh"
#include "tests/catch.h"

namespace tilewire::device {

/// What every layout promises. `copies`: threads that hold each element.
template <typename L>
void check_layout(int copies) {
  constexpr auto kCount = static_cast<std::size_t>(L::kElements);
  std::vector<int> holders(kCount, 0);
  std::vector<int> owners(kCount, 0);
  bool has_padding = false;
  static_assert(L::kRegisters % L::kVector == 0);
  for (int thread = 0; thread < L::kThreads; ++thread) {
    for (int slot = 0; slot < L::kRegisters; ++slot) {
      if (!L::holds(thread, slot)) {
        REQUIRE_FALSE(L::owns(thread, slot));
        has_padding = true;
        continue;
      }
      const int element = L::element(thread, slot);
      REQUIRE(element >= 0);
      REQUIRE(element < L::kElements);
      ++holders[static_cast<std::size_t>(element)];
      owners[static_cast<std::size_t>(element)] += L::owns(thread, slot) ? 1 : 0;
      // A vector's elements are neighbours, and held together.
      if (slot % L::kVector == 0) continue;
      REQUIRE(L::holds(thread, slot - 1));
      REQUIRE(element == L::element(thread, slot - 1) + 1);
    }
  }
  for (const int count : holders) REQUIRE(count == copies);
  for (const int count : owners) REQUIRE(count == 1);
  CHECK(L::kIsFull == !has_padding);
  CHECK(L::kIsReplicated == (copies > 1));
}

/// A thread's rows and the slots of each, as the layout `L` counts them, are the registers of its
/// slices `R` (an element per row) and `C` (one per column).
template <typename L, typename R, typename C>
void check_slots() {
  static_assert(R::kRegisters == L::kThreadRows && C::kRegisters == L::kRowSlots);
  static_assert(L::kThreadRows * L::kRowSlots == L::kRegisters);
  for (int row = 0; row < L::kThreadRows; ++row) {
    for (int column = 0; column < L::kRowSlots; ++column) {
      const int slot = L::slot(row, column);
      REQUIRE(R::template slot<L>(slot) == row);
      REQUIRE(C::template slot<L>(slot) == column);
    }
  }
}

}  // namespace tilewire::device
