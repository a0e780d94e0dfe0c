// How operands lie in a slot that all threads of a CTA fill (common_ring.cuh), for `ldmatrix`.
// Plain arithmetic: the code generator and the unit tests compile this file too.
#pragma once

#include "tilewire/mma_layout.cuh"
#include "tilewire/staged_layout.cuh"

namespace tilewire::device {

/// Where tiles in a slot begin, and slots: at whole lines of all banks.
inline constexpr int kSlotAlignment = 128;

/// A tile of an operand in a slot: `kLines` rows of A (or columns of B), `kDepth` elements of K. In
/// global memory the elements along K are neighbours, or else (16-bit types only) the lines are.
///
/// Panels lie side by side along the dimension of neighbours, and have a row of `kRowBytes` for
/// each index of the other one. Units of 16 bytes change places within their row, so that the same
/// unit of 8 rows, which `ldmatrix` reads at once, lies in different banks.
template <typename T, int kLines_, int kDepth_, bool kDepthIsContiguous_>
struct SlotTile {
  using Element = T;
  static constexpr int kLines = kLines_;
  static constexpr int kDepth = kDepth_;
  static constexpr bool kDepthIsContiguous = kDepthIsContiguous_;
  static constexpr int kElementBytes = static_cast<int>(sizeof(T));
  static constexpr int kInner = kDepthIsContiguous ? kDepth : kLines;  ///< neighbours
  static constexpr int kOuter = kDepthIsContiguous ? kLines : kDepth;
  static constexpr int kInnerBytes = kInner * kElementBytes;
  static constexpr int kBytes = kOuter * kInnerBytes;
  static constexpr int kRowBytes = smaller(kPanelRowBytes, kInnerBytes & -kInnerBytes);
  static constexpr int kPanelBytes = kOuter * kRowBytes;
  static_assert(kDepthIsContiguous || kElementBytes == 2);
  static_assert(kOuter % 8 == 0 && kInnerBytes % 32 == 0);

  /// Where the byte `inner` of row `outer` lies, before units change places.
  static TILEWIRE_CONSTEXPR int start(int outer, int inner) {
    return inner / kRowBytes * kPanelBytes + outer * kRowBytes + inner % kRowBytes;
  }
  static TILEWIRE_CONSTEXPR int place(int outer, int inner) {
    return swizzled(start(outer, inner), kRowBytes);
  }
  /// `place(outer + lane_outer, inner + lane_inner)`, where `lane` is that of the lane's own part:
  /// `outer` is a multiple of 8, and `inner` has no bit within a row that the lane's part has.
  static TILEWIRE_CONSTEXPR int behind(int lane, int outer, int inner) {
    const int within_row = inner % kRowBytes;
    return start(outer, inner) - within_row + (lane ^ within_row);
  }
};

/// What each lane names of a tile to `ldmatrix`, which gives it the words of A: 16 lines from
/// `line` on, 32 bytes of K. Where lines are neighbours, matrices are turned.
template <typename S>
TILEWIRE_CONSTEXPR int left_place(int line, int lane) {
  if (S::kDepthIsContiguous)
    return S::place(line + MmaLeftLoad::row(lane), MmaLeftLoad::byte(lane));
  return S::place(lane % 8 + lane / 16 * 8, line * S::kElementBytes + lane / 8 % 2 * 16);
}
/// The same of B: 16 columns, each half of which has two words.
template <typename S>
TILEWIRE_CONSTEXPR int right_place(int lane) {
  if (S::kDepthIsContiguous) return S::place(lane % 8 + lane / 16 * 8, MmaRightLoad::byte(lane));
  return S::place(lane % 8 + lane / 8 % 2 * 8, lane / 16 * 16);
}
/// From there, that of the line `lines` and the 32-byte step `step` along K.
template <typename S>
TILEWIRE_CONSTEXPR int place_behind(int lane, int lines, int step) {
  if (S::kDepthIsContiguous) return S::behind(lane, lines, step * kMmaBytes);
  return S::behind(lane, step * (kMmaBytes / S::kElementBytes), lines * S::kElementBytes);
}

}  // namespace tilewire::device
