// The warpgroup's multiplication (sm_90a): `wgmma`, the right operand from shared memory, the left
// one from there or from registers, as all threads of a warpgroup issue it. It runs behind their
// backs: what they do with accumulators comes before `begin_products` or after `wait_products` and
// `settle`.
#pragma once

#include "tilewire/fragment_layout.cuh"
#include "tilewire/mma.cuh"
#include "tilewire/staged_layout.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

// Lists of `%0, %1 …`: the first places of a ten.
#define TILEWIRE_2(ten) "%" ten "0, %" ten "1"
#define TILEWIRE_4(ten) TILEWIRE_2(ten) ", %" ten "2, %" ten "3"
#define TILEWIRE_6(ten) TILEWIRE_4(ten) ", %" ten "4, %" ten "5"
#define TILEWIRE_8(ten) TILEWIRE_6(ten) ", %" ten "6, %" ten "7"
#define TILEWIRE_10(ten) TILEWIRE_8(ten) ", %" ten "8, %" ten "9"
#define TILEWIRE_30 TILEWIRE_10("") ", " TILEWIRE_10("1") ", " TILEWIRE_10("2")
#define TILEWIRE_60 TILEWIRE_30 ", " TILEWIRE_10("3") ", " TILEWIRE_10("4") ", " TILEWIRE_10("5")
#define TILEWIRE_90 TILEWIRE_60 ", " TILEWIRE_10("6") ", " TILEWIRE_10("7") ", " TILEWIRE_10("8")
#define TILEWIRE_120 TILEWIRE_90 ", " TILEWIRE_10("9") ", " TILEWIRE_10("10") ", " TILEWIRE_10("11")
// The accumulators from number i on.
#define TILEWIRE_SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define TILEWIRE_SUMS_8(i) TILEWIRE_SUMS_4(i), TILEWIRE_SUMS_4(i + 4)
#define TILEWIRE_SUMS_16(i) TILEWIRE_SUMS_8(i), TILEWIRE_SUMS_8(i + 8)
#define TILEWIRE_SUMS_32(i) TILEWIRE_SUMS_16(i), TILEWIRE_SUMS_16(i + 16)
#define TILEWIRE_SUMS_64(i) TILEWIRE_SUMS_32(i), TILEWIRE_SUMS_32(i + 32)

// FORM(types, tail, columns, sums' places, the 7 places behind them, sums) for each instruction.
#define TILEWIRE_WGMMA_TABLE(FORM, types, tail)                                                   \
  FORM(types, tail, 8, TILEWIRE_4(""), "4", "5", "6", "7", "8", "9", "10", TILEWIRE_SUMS_4(0))    \
  FORM(types, tail, 16, TILEWIRE_8(""), "8", "9", "10", "11", "12", "13", "14",                   \
       TILEWIRE_SUMS_8(0))                                                                        \
  FORM(types, tail, 32, TILEWIRE_10("") ", " TILEWIRE_6("1"), "16", "17", "18", "19", "20", "21", \
       "22", TILEWIRE_SUMS_16(0))                                                                 \
  FORM(types, tail, 64, TILEWIRE_30 ", " TILEWIRE_2("3"), "32", "33", "34", "35", "36", "37",     \
       "38", TILEWIRE_SUMS_32(0))                                                                 \
  FORM(types, tail, 96, TILEWIRE_30 ", " TILEWIRE_10("3") ", " TILEWIRE_8("4"), "48", "49", "50", \
       "51", "52", "53", "54", TILEWIRE_SUMS_32(0), TILEWIRE_SUMS_16(32))                         \
  FORM(types, tail, 128, TILEWIRE_60 ", " TILEWIRE_4("6"), "64", "65", "66", "67", "68", "69",    \
       "70", TILEWIRE_SUMS_64(0))                                                                 \
  FORM(types, tail, 160, TILEWIRE_60 ", " TILEWIRE_10("6") ", " TILEWIRE_10("7"), "80", "81",     \
       "82", "83", "84", "85", "86", TILEWIRE_SUMS_64(0), TILEWIRE_SUMS_16(64))                   \
  FORM(types, tail, 192, TILEWIRE_90 ", " TILEWIRE_6("9"), "96", "97", "98", "99", "100", "101",  \
       "102", TILEWIRE_SUMS_64(0), TILEWIRE_SUMS_32(64))                                          \
  FORM(types, tail, 224,                                                                          \
       TILEWIRE_90 ", " TILEWIRE_10("9") ", " TILEWIRE_10("10") ", " TILEWIRE_2("11"), "112",     \
       "113", "114", "115", "116", "117", "118", TILEWIRE_SUMS_64(0), TILEWIRE_SUMS_32(64),       \
       TILEWIRE_SUMS_16(96))                                                                      \
  FORM(types, tail, 256, TILEWIRE_120 ", " TILEWIRE_8("12"), "128", "129", "130", "131", "132",   \
       "133", "134", TILEWIRE_SUMS_64(0), TILEWIRE_SUMS_64(64))

#define TILEWIRE_WGMMA_START(types, columns, sums, use_place) \
  "{\n\t"                                                     \
  ".reg .pred use;\n\t"                                       \
  "setp.ne.b32 use, %" use_place                              \
  ", 0;\n\t"                                                  \
  "wgmma.mma_async.sync.aligned.m64n" #columns types " {" sums "}, "

// An instruction's last arguments: neither operand is negated; whether they are transposed.
#define TILEWIRE_TRANSPOSE(left_place, right_place) "1, 1, %" left_place ", %" right_place
#define TILEWIRE_NO_TRANSPOSE(left_place, right_place) "1, 1"

#define TILEWIRE_WGMMA_STAGED(types, tail, columns, places, a, b, c, d, e, f, g, ...)          \
  if constexpr (kColumns == columns) {                                                         \
    asm volatile(TILEWIRE_WGMMA_START(types, columns, places, c) "%" a ", %" b                 \
                                                                 ", use, " tail(d, e) ";\n\t}" \
                 : __VA_ARGS__                                                                 \
                 : "l"(left), "l"(right), "r"(use), "n"(kLeft), "n"(kRight)                    \
                 : "memory");                                                                  \
  }
#define TILEWIRE_WGMMA_HELD(types, tail, columns, places, a, b, c, d, e, f, g, ...)              \
  if constexpr (kColumns == columns) {                                                           \
    asm volatile(TILEWIRE_WGMMA_START(types, columns, places, f) "{%" a ", %" b ", %" c ", %" d  \
                                                                 "}, %" e ", use, 1, 1, %" g     \
                                                                 ";\n\t}"                        \
                 : __VA_ARGS__                                                                   \
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(use), \
                   "n"(kRight)                                                                   \
                 : "memory");                                                                    \
  }

// sums (+)= left · right for 64 rows, kColumns columns and 32 bytes along K, of elements A and B;
// kLeft, kRight: 1 where lines are neighbours in shared memory. `use` = 0: sums are 0 before.
#define TILEWIRE_WGMMA(A, B, types, tail)                                                         \
  template <int kColumns, int kLeft, int kRight>                                                  \
  TILEWIRE_DEVICE void start_product(A, B, float* sums, uint64_t left, uint64_t right, int use) { \
    TILEWIRE_WGMMA_TABLE(TILEWIRE_WGMMA_STAGED, types, tail)                                      \
  }
// The same with the left operand in registers: the words of its rows that lie in this thread, as
// `Fragment` spreads 16 columns of them.
#define TILEWIRE_WGMMA_OF_HELD(T, types)                                            \
  template <int kColumns, int kRight>                                               \
  TILEWIRE_DEVICE void start_held_product(T, float* sums, const uint32_t(&left)[4], \
                                          uint64_t right, int use) {                \
    TILEWIRE_WGMMA_TABLE(TILEWIRE_WGMMA_HELD, types, )                              \
  }

TILEWIRE_WGMMA(bf16, bf16, "k16.f32.bf16.bf16", TILEWIRE_TRANSPOSE)
TILEWIRE_WGMMA(f16, f16, "k16.f32.f16.f16", TILEWIRE_TRANSPOSE)
TILEWIRE_WGMMA(float, float, "k8.f32.tf32.tf32", TILEWIRE_NO_TRANSPOSE)
TILEWIRE_WGMMA(e4m3, e4m3, "k32.f32.e4m3.e4m3", TILEWIRE_NO_TRANSPOSE)
TILEWIRE_WGMMA(e4m3, e5m2, "k32.f32.e4m3.e5m2", TILEWIRE_NO_TRANSPOSE)
TILEWIRE_WGMMA(e5m2, e4m3, "k32.f32.e5m2.e4m3", TILEWIRE_NO_TRANSPOSE)
TILEWIRE_WGMMA(e5m2, e5m2, "k32.f32.e5m2.e5m2", TILEWIRE_NO_TRANSPOSE)
TILEWIRE_WGMMA_OF_HELD(bf16, "k16.f32.bf16.bf16")
TILEWIRE_WGMMA_OF_HELD(f16, "k16.f32.f16.f16")
#undef TILEWIRE_WGMMA_OF_HELD
#undef TILEWIRE_WGMMA
#undef TILEWIRE_WGMMA_HELD
#undef TILEWIRE_WGMMA_STAGED
#undef TILEWIRE_WGMMA_START
#undef TILEWIRE_WGMMA_TABLE
#undef TILEWIRE_NO_TRANSPOSE
#undef TILEWIRE_TRANSPOSE
#undef TILEWIRE_SUMS_64
#undef TILEWIRE_SUMS_32
#undef TILEWIRE_SUMS_16
#undef TILEWIRE_SUMS_8
#undef TILEWIRE_SUMS_4
#undef TILEWIRE_120
#undef TILEWIRE_90
#undef TILEWIRE_60
#undef TILEWIRE_30
#undef TILEWIRE_10
#undef TILEWIRE_8
#undef TILEWIRE_6
#undef TILEWIRE_4
#undef TILEWIRE_2

/// Orders this thread's accesses to accumulators before the products that follow.
TILEWIRE_DEVICE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// The products started since the last call are a group.
TILEWIRE_DEVICE void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits for all but the `kNewest` last groups of products.
template <int kNewest>
TILEWIRE_DEVICE void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kNewest) : "memory");
}
/// Keeps the compiler from moving accesses to accumulators, or to words of an operand, above this
/// place.
template <int kCount>
TILEWIRE_DEVICE void settle(float (&sums)[kCount]) {
  TILEWIRE_UNROLL
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
TILEWIRE_DEVICE void settle(uint32_t (&words)[4]) {
  asm volatile("" : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])::"memory");
}

}  // namespace tilewire::device
#endif
