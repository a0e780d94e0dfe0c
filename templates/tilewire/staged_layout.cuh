// How operands lie in shared memory for wgmma, as the tensor copy engine (TMA) leaves them there.
// Plain arithmetic: the host, which describes tensors to the engine, and the unit tests compile
// this file too.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

/// Bytes of a row of a panel, the widest that the engine swizzles; 8 rows repeat the pattern.
inline constexpr int kPanelRowBytes = 128;
inline constexpr int kSwizzleBytes = 1024;
/// What staged tiles and slots are aligned to.
inline constexpr int kStagedAlignment = kSwizzleBytes;
/// Extent of a box of the engine in any dimension, at most.
inline constexpr int kMaxBox = 256;
/// Bytes along K that one `wgmma` multiplies, whatever the element.
inline constexpr int kWgmmaDepthBytes = 32;

/// Where byte `offset` of a tile with rows of `row_bytes` (16, 32, 64 or 128) lies: 16-byte units
/// change places within their row, by the number of the 128-byte line (CUDA driver API,
/// CUtensorMapSwizzle; none for 16).
TILEWIRE_CONSTEXPR int swizzled(int offset, int row_bytes) {
  return offset ^ ((offset >> 7) & (row_bytes / 16 - 1)) << 4;
}

/// The largest extent of a box that divides `extent` into boxes of whole patterns, at most 256.
TILEWIRE_CONSTEXPR int box_extent(int extent) {
  int parts = divide_up(extent, kMaxBox);
  while (extent % (parts * 8) != 0) ++parts;
  return extent / parts;
}

/// A tile of an operand in a slot: `kLines` rows of A (or columns of B), `kDepth` elements of K. In
/// global memory the elements along K are neighbours, or else (16-bit types only) the lines are.
///
/// The tile consists of panels, side by side along the contiguous dimension: a row of 128 bytes for
/// each index of the other dimension. The map that describes the tensor to the engine has the
/// contiguous dimension first, then the operand's other one, then any others (of extent 1 in the
/// box), 128-byte swizzle, and the box kBoxInner x kBoxOuter. Where `kShares` CTAs of a cluster
/// read the same tile, each loads one of as many parts for all of them.
template <typename T, int kLines_, int kDepth_, bool kDepthIsContiguous_, int kShares_ = 1>
struct StagedTile {
  using Element = T;
  static constexpr int kLines = kLines_;
  static constexpr int kDepth = kDepth_;
  static constexpr bool kDepthIsContiguous = kDepthIsContiguous_;
  static constexpr int kShares = kShares_;
  static constexpr int kElementBytes = static_cast<int>(sizeof(T));
  static constexpr int kInner = kDepthIsContiguous ? kDepth : kLines;
  static constexpr int kOuter = kDepthIsContiguous ? kLines : kDepth;
  static constexpr int kBoxInner = kPanelRowBytes / kElementBytes;
  static constexpr int kPanels = divide_up(kInner, kBoxInner);
  static constexpr int kPanelBytes = kOuter * kPanelRowBytes;
  static constexpr int kBytes = kPanels * kPanelBytes;
  /// What `wgmma` reads of a left operand of fewer than 64 lines, whatever lies behind it.
  static constexpr int kReadBytes =
      kBytes + (kOuter < 64 && kDepthIsContiguous ? (64 - kOuter) * kPanelRowBytes : 0);
  static constexpr int kShareOuter = kOuter / kShares;  ///< of a panel's rows, one CTA's
  static constexpr int kBoxOuter = box_extent(kShareOuter);
  static_assert(kDepthIsContiguous || kElementBytes == 2);
  static_assert(kLines % 8 == 0 && kDepth * kElementBytes % kWgmmaDepthBytes == 0);
  static_assert(!kDepthIsContiguous || kDepth % kBoxInner == 0);
  static_assert(kOuter % (8 * kShares) == 0);

  /// Boxes that a CTA loads: what box `i` begins at, counted from the tile's first element, and the
  /// byte of the tile that it goes to. `share`: the CTA's number among those that load parts.
  static constexpr int kBoxesOfPanel = kShareOuter / kBoxOuter;
  static constexpr int kBoxes = kPanels * kBoxesOfPanel;
  static TILEWIRE_CONSTEXPR int box_inner(int i) { return i / kBoxesOfPanel * kBoxInner; }
  static TILEWIRE_CONSTEXPR int box_outer(int i, int share) {
    return share * kShareOuter + i % kBoxesOfPanel * kBoxOuter;
  }
  static TILEWIRE_CONSTEXPR int box_offset(int i, int share) {
    return i / kBoxesOfPanel * kPanelBytes + box_outer(i, share) * kPanelRowBytes;
  }

  /// Byte at which the part from (line, depth) on begins, before the swizzle.
  static TILEWIRE_CONSTEXPR int start(int line, int depth) {
    const int inner = (kDepthIsContiguous ? depth : line) * kElementBytes;
    const int outer = kDepthIsContiguous ? line : depth;
    return inner / kPanelRowBytes * kPanelBytes + outer * kPanelRowBytes + inner % kPanelRowBytes;
  }
  /// Where an element lies.
  static TILEWIRE_CONSTEXPR int offset(int line, int depth) {
    return swizzled(start(line, depth), kPanelRowBytes);
  }

  /// What `wgmma` is told of the layout (PTX ISA, "Matrix Descriptor Format", "Strides"), but for
  /// the address: from 8 rows of 128 bytes to the next 8, and, where lines are neighbours, from
  /// panel to panel. Along K a panel's row holds all that one instruction reads.
  static TILEWIRE_CONSTEXPR uint64_t descriptor() {
    const uint64_t panel_stride = kDepthIsContiguous ? 1 : kPanelBytes / 16;
    const uint64_t swizzle_128 = 1;
    return panel_stride << 16 | uint64_t(kSwizzleBytes / 16) << 32 | swizzle_128 << 62;
  }
};

}  // namespace tilewire::device
