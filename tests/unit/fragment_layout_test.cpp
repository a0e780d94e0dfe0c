#include "templates/tilewire/fragment_layout.cuh"

#include "tests/unit/check_layout.h"

namespace tilewire::device {
namespace {

/// Element d[i] of a thread of a warpgroup, by the PTX ISA ("Register Fragments for wgmma").
int isa_row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + (i % 4 < 2 ? 0 : 8); }
int isa_column(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

template <int kRows, int kColumns, int kThreads>
void check_fragment() {
  using L = Fragment<kRows, kColumns, kThreads>;
  using R = FragmentPerRow<kRows, kThreads>;
  using C = FragmentPerColumn<kColumns, kThreads>;
  check_layout<L>(1);
  check_layout<R>(4);
  check_layout<C>(kThreads / 4);
  check_slots<L, R, C>();
  constexpr int kOwnRows = kRows / (kThreads / 128);
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int slot = 0; slot < L::kRegisters; ++slot) {
      const int block = slot / (kColumns / 2);
      const int i = slot % (kColumns / 2);
      if (!L::holds(thread, slot)) continue;
      const int row = thread / 128 * kOwnRows + block * 64 + isa_row(thread % 128, i);
      REQUIRE(L::element(thread, slot) == row * kColumns + isa_column(thread % 128, i));
      REQUIRE(R::element(thread, R::template slot<L>(slot)) == row);
      REQUIRE(C::element(thread, C::template slot<L>(slot)) == isa_column(thread % 128, i));
      REQUIRE(row >= L::warp_row(thread, block));
      REQUIRE(row < L::warp_row(thread, block) + 16);
    }
  }
}

}  // namespace

TEST_CASE("a fragment is spread as wgmma leaves it") {
  check_fragment<64, 8, 128>();
  check_fragment<64, 256, 128>();
  check_fragment<128, 24, 128>();
  check_fragment<128, 256, 256>();
  check_fragment<256, 128, 256>();
  check_fragment<192, 320, 384>();
  check_fragment<16, 64, 128>();
  check_fragment<48, 24, 128>();
}

TEST_CASE("a product's columns are those of instructions that there are") {
  for (int columns = 8; columns <= 520; columns += 8) {
    int done = 0;
    while (done < columns) {
      const int now = wgmma_columns(columns - done);
      const bool is_compiled = now == 8 || now == 16 || (now % 32 == 0 && now <= 256);
      REQUIRE(is_compiled);
      REQUIRE(now <= columns - done);
      REQUIRE((done % 64 == 0 || done % 64 + now <= 64));
      done += now;
    }
  }
}

}  // namespace tilewire::device
