// The tensor cores' instructions, as a warp issues them: `ldmatrix` and `mma.sync`. All lanes of a
// warp take part. mma_layout.cuh says which lane holds what.
#pragma once

#include "tilewire/fp8.cuh"
#include "tilewire/mma_layout.cuh"

namespace tilewire::device {

/// An f32 with 10 bits behind the point, as the tensor cores read it.
struct tf32 {
  uint32_t bits;
};

#if defined(__CUDACC__)

/// Four matrices of 8 rows of 16 bytes from shared memory; each lane names one row.
TILEWIRE_DEVICE void load_matrices(uint32_t (&words)[4], const void* row) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
/// Two of them; the addresses of the upper 16 lanes are ignored.
TILEWIRE_DEVICE void load_matrices(uint32_t (&words)[2], const void* row) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(address)
               : "memory");
}
/// Four of 16-bit elements, of each of which rows and columns change places.
TILEWIRE_DEVICE void load_turned_matrices(uint32_t (&words)[4], const void* row) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

// sums += left · right, for elements of the two types.
#define TILEWIRE_MMA(Left, Right, Sum, letter, shape, left, right, sum)                      \
  TILEWIRE_DEVICE void multiply_add(Left, Right, Sum(&sums)[4], const uint32_t(&a)[4],       \
                                    const uint32_t(&b)[2]) {                                 \
    asm("mma.sync.aligned." shape ".row.col." sum "." left "." right "." sum                 \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                   \
        : "+" letter(sums[0]), "+" letter(sums[1]), "+" letter(sums[2]), "+" letter(sums[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                 \
  }

TILEWIRE_MMA(f16, f16, float, "f", "m16n8k16", "f16", "f16", "f32")
TILEWIRE_MMA(bf16, bf16, float, "f", "m16n8k16", "bf16", "bf16", "f32")
TILEWIRE_MMA(tf32, tf32, float, "f", "m16n8k8", "tf32", "tf32", "f32")
TILEWIRE_MMA(int8_t, int8_t, int32_t, "r", "m16n8k32", "s8", "s8", "s32")
TILEWIRE_MMA(int8_t, uint8_t, int32_t, "r", "m16n8k32", "s8", "u8", "s32")
TILEWIRE_MMA(uint8_t, int8_t, int32_t, "r", "m16n8k32", "u8", "s8", "s32")
TILEWIRE_MMA(uint8_t, uint8_t, int32_t, "r", "m16n8k32", "u8", "u8", "s32")
#if __CUDA_ARCH__ >= 890
TILEWIRE_MMA(e4m3, e4m3, float, "f", "m16n8k32", "e4m3", "e4m3", "f32")
TILEWIRE_MMA(e4m3, e5m2, float, "f", "m16n8k32", "e4m3", "e5m2", "f32")
TILEWIRE_MMA(e5m2, e4m3, float, "f", "m16n8k32", "e5m2", "e4m3", "f32")
TILEWIRE_MMA(e5m2, e5m2, float, "f", "m16n8k32", "e5m2", "e5m2", "f32")
#endif
#undef TILEWIRE_MMA

/// To nearest, ties away from 0.
TILEWIRE_DEVICE tf32 to_tf32(float value) {
  tf32 result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result.bits) : "f"(value));
  return result;
}

#else

inline tf32 to_tf32(float value) {
  const uint32_t bits = bits_of_float(value);
  return {value == value ? (bits + 0x1000u) & ~0x1fffu : bits};
}

#endif

/// How an element of type T lies in shared memory for the tensor cores.
template <typename T>
struct Staged {
  using type = T;
  static TILEWIRE_DEVICE T of(T value) { return value; }
};
template <>
struct Staged<float> {
  using type = tf32;
  static TILEWIRE_DEVICE tf32 of(float value) { return to_tf32(value); }
};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
// No fp8 in these tensor cores: every one is an f16 too.
template <>
struct Staged<e4m3> {
  using type = f16;
  static TILEWIRE_DEVICE f16 of(e4m3 value) { return Narrow<f16>::of(widen(value)); }
};
template <>
struct Staged<e5m2> {
  using type = f16;
  static TILEWIRE_DEVICE f16 of(e5m2 value) { return Narrow<f16>::of(widen(value)); }
};
#endif

}  // namespace tilewire::device
