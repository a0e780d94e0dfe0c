#include "templates/tilewire/staged_layout.cuh"

#include <vector>

#include "tests/catch.h"

namespace tilewire::device {
namespace {

/// The engine's 128-byte swizzle: the 16-byte unit's number, exclusive or the number of the line of
/// 128 bytes among the 8 of its pattern. `address` counts from where patterns begin.
int engine_address(int address) {
  const int line = address / 128;
  const int unit = address / 16 % 8;
  return line * 128 + (unit ^ line % 8) * 16 + address % 16;
}

/// A tile as the copies of all of its CTAs leave it: at each byte of an element's begin the
/// element, numbered line by line; -1 elsewhere.
template <typename S>
std::vector<int> load_tile() {
  std::vector<int> bytes(S::kBytes, -1);
  for (int share = 0; share < S::kShares; ++share) {
    for (int i = 0; i < S::kBoxes; ++i) {
      REQUIRE(S::box_offset(i, share) % kSwizzleBytes == 0);
      for (int row = 0; row < S::kBoxOuter; ++row) {
        for (int column = 0; column < S::kBoxInner; ++column) {
          const int inner = S::box_inner(i) + column;
          const int outer = S::box_outer(i, share) + row;
          const int line = S::kDepthIsContiguous ? outer : inner;
          const int depth = S::kDepthIsContiguous ? inner : outer;
          const int byte = S::box_offset(i, share) + row * 128 + column * S::kElementBytes;
          int& element = bytes.at(static_cast<std::size_t>(engine_address(byte)));
          REQUIRE(element == -1);
          element = line * S::kDepth + depth;
        }
      }
    }
  }
  return bytes;
}

/// Where `wgmma` reads element (line, depth) of an operand whose descriptor names the address
/// `start`: the canonical layouts of the PTX ISA ("Strides").
template <typename S>
int wgmma_address(int start, int line, int depth) {
  const int leading = static_cast<int>(S::descriptor() >> 16 & 0x3fff) * 16;
  const int stride = static_cast<int>(S::descriptor() >> 32 & 0x3fff) * 16;
  const int of_unit = 16 / S::kElementBytes;
  int offset = 0;
  if (S::kDepthIsContiguous) {
    offset = line % 8 * 128 + line / 8 * stride + depth * S::kElementBytes;
  } else {
    offset = line % of_unit * S::kElementBytes + line / of_unit % 8 * 16 +
             line / (8 * of_unit) * leading + depth % 8 * 128 + depth / 8 * stride;
  }
  return engine_address(start + offset);
}

/// `kStep`: lines of an instruction; others begin at multiples of it.
template <typename S, int kStep>
void check_staged() {
  static_assert(S::kBoxOuter <= 256 && S::kBoxOuter * S::kBoxInner * S::kElementBytes % 128 == 0);
  static_assert(S::descriptor() >> 62 == 1 && (S::descriptor() >> 49 & 7) == 0);
  const std::vector<int> bytes = load_tile<S>();
  constexpr int kDepthStep = 32 / S::kElementBytes;
  for (int line = 0; line < S::kLines; ++line) {
    for (int depth = 0; depth < S::kDepth; ++depth) {
      const int element = line * S::kDepth + depth;
      REQUIRE(bytes.at(static_cast<std::size_t>(S::offset(line, depth))) == element);
      const int start = S::start(line / kStep * kStep, depth / kDepthStep * kDepthStep);
      REQUIRE(wgmma_address<S>(start, line % kStep, depth % kDepthStep) == S::offset(line, depth));
    }
  }
}

}  // namespace

TEST_CASE("staged tiles lie where wgmma looks for them") {
  check_staged<StagedTile<bf16, 128, 64, true>, 64>();
  check_staged<StagedTile<bf16, 256, 128, true>, 256>();
  check_staged<StagedTile<bf16, 256, 64, true, 2>, 256>();
  check_staged<StagedTile<bf16, 8, 64, true>, 8>();
  check_staged<StagedTile<bf16, 320, 64, true>, 64>();
  check_staged<StagedTile<float, 64, 32, true>, 64>();
  check_staged<StagedTile<float, 128, 64, true, 4>, 128>();
  check_staged<StagedTile<e4m3, 128, 128, true>, 64>();
}

TEST_CASE("staged tiles whose lines are neighbours lie where wgmma looks for them") {
  check_staged<StagedTile<bf16, 128, 64, false>, 64>();
  check_staged<StagedTile<f16, 256, 64, false>, 256>();
  check_staged<StagedTile<f16, 256, 64, false, 2>, 256>();
  check_staged<StagedTile<f16, 64, 16, false>, 64>();
  check_staged<StagedTile<f16, 96, 32, false>, 96>();
  check_staged<StagedTile<f16, 48, 64, false>, 16>();  // within a panel
}

TEST_CASE("boxes are as large as the engine takes them") {
  CHECK(box_extent(64) == 64);
  CHECK(box_extent(256) == 256);
  CHECK(box_extent(512) == 256);
  CHECK(box_extent(384) == 192);
  CHECK(box_extent(264) == 88);
}

}  // namespace tilewire::device
