// Which elements of a tile a printed line shows. Plain arithmetic: the code generator and the CPU
// runtime compile this file too.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

/// A tile of more elements is shown by its first and last ones, half of these each.
inline constexpr int kMaxShown = 8;

TILEWIRE_CONSTEXPR int shown_elements(int elements) { return smaller(elements, kMaxShown); }
/// The element that is shown at a place.
TILEWIRE_CONSTEXPR int shown_element(int elements, int place) {
  return elements <= kMaxShown || place < kMaxShown / 2 ? place : elements - kMaxShown + place;
}
/// Where an element is shown; -1: not at all.
TILEWIRE_CONSTEXPR int shown_place(int elements, int element) {
  if (elements <= kMaxShown || element < kMaxShown / 2) return element;
  const int place = element - (elements - kMaxShown);
  return place >= kMaxShown / 2 ? place : -1;
}

/// Bytes of shared memory that the shown elements of a tile pass through.
inline constexpr int kShownBytes = kMaxShown * 8;

}  // namespace tilewire::device
