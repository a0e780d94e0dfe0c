// The GPU's `multimem` instructions, by operation and type: compiler/ops/multimem.cpp lists which
// there are. Loads and stores are weak, as plain ones are: what orders them is around them.
// Reductions are relaxed, for the whole system.
#pragma once

#include "tilewire/atomic_instructions.cuh"

namespace tilewire::device {

// What is done to all copies. `Atomic`: the same to one copy.
struct MultimemAdd {
  using Atomic = AtomicAdd;
};
struct MultimemMin {
  using Atomic = AtomicMin;
};
struct MultimemMax {
  using Atomic = AtomicMax;
};
struct MultimemAnd {
  using Atomic = AtomicAnd;
};
struct MultimemOr {
  using Atomic = AtomicOr;
};
struct MultimemXor {
  using Atomic = AtomicXor;
};

/// Whether several elements go in one reduction: floats of up to 32 bits do.
template <typename T>
inline constexpr bool kHasMultimemVectors = kKind<T> == Kind::kNarrowFloat;
template <>
inline constexpr bool kHasMultimemVectors<float> = true;

/// 4 bytes of elements, as the instructions take them.
template <typename T>
struct MultimemWordOf {
  using type = uint32_t;
};
template <>
struct MultimemWordOf<float> {
  using type = float;
};
template <typename T>
using MultimemWord = typename MultimemWordOf<T>::type;

/// Element `index` of those that words hold.
template <typename T, typename W, int kWords>
TILEWIRE_DEVICE T element_of_words(const W (&words)[kWords], int index) {
  if constexpr (sizeof(T) == 4) {
    return words[index];
  } else {
    constexpr int kInWord = 4 / sizeof(T);
    const uint32_t bits = words[index / kInWord] >> (8 * sizeof(T) * (index % kInWord));
    return {static_cast<decltype(T::bits)>(bits)};
  }
}
/// Elements are put in from the first one on.
template <typename T, typename W, int kWords>
TILEWIRE_DEVICE void put_element_in_words(W (&words)[kWords], int index, T value) {
  if constexpr (sizeof(T) == 8) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof(T));
    words[2 * index] = static_cast<uint32_t>(bits);
    words[2 * index + 1] = static_cast<uint32_t>(bits >> 32);
  } else if constexpr (sizeof(T) == 4) {
    __builtin_memcpy(&words[index], &value, sizeof(T));
  } else {
    constexpr int kInWord = 4 / sizeof(T);
    uint32_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    const uint32_t before = index % kInWord == 0 ? 0 : words[index / kInWord];
    words[index / kInWord] = before | bits << (8 * sizeof(T) * (index % kInWord));
  }
}

/// 1, 2 or 4 words of any elements to all copies: they go over as they are.
TILEWIRE_DEVICE void multimem_put(void* place, const uint32_t (&x)[1]) {
  asm volatile("multimem.st.weak.global.b32 [%0], %1;" ::"l"(place), "r"(x[0]) : "memory");
}
TILEWIRE_DEVICE void multimem_put(void* place, const uint32_t (&x)[2]) {
  asm volatile("multimem.st.weak.global.v2.f32 [%0], {%1, %2};" ::"l"(place),
               "f"(float_of_bits(x[0])), "f"(float_of_bits(x[1]))
               : "memory");
}
TILEWIRE_DEVICE void multimem_put(void* place, const uint32_t (&x)[4]) {
  asm volatile("multimem.st.weak.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(place),
               "f"(float_of_bits(x[0])), "f"(float_of_bits(x[1])), "f"(float_of_bits(x[2])),
               "f"(float_of_bits(x[3]))
               : "memory");
}
TILEWIRE_DEVICE void multimem_put(void* place, uint64_t x) {
  asm volatile("multimem.st.weak.global.b64 [%0], %1;" ::"l"(place), "l"(x) : "memory");
}

/// One element of 1 or 2 bytes to one copy, where some of its neighbours go to all by themselves.
template <typename T>
TILEWIRE_DEVICE void put_single(T* place, T value) {
  uint16_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  if constexpr (sizeof(T) == 2) {
    asm volatile("st.weak.global.b16 [%0], %1; // single copy" ::"l"(place), "h"(bits) : "memory");
  } else {
    asm volatile("st.weak.global.b8 [%0], %1; // single copy" ::"l"(place), "h"(bits) : "memory");
  }
}

// Vectors: `multimem_fetch` reduces 1, 2 or 4 words from all copies.
#define TILEWIRE_MULTIMEM_FETCH(Operation, T, op, type, letter)                              \
  TILEWIRE_DEVICE void multimem_fetch(Operation, T, void* place, MultimemWord<T>(&x)[1]) {   \
    asm volatile("multimem.ld_reduce.weak.global." op "." type " %0, [%1];"                  \
                 : "=" letter(x[0])                                                          \
                 : "l"(place)                                                                \
                 : "memory");                                                                \
  }                                                                                          \
  TILEWIRE_DEVICE void multimem_fetch(Operation, T, void* place, MultimemWord<T>(&x)[2]) {   \
    asm volatile("multimem.ld_reduce.weak.global." op ".v2." type " {%0, %1}, [%2];"         \
                 : "=" letter(x[0]), "=" letter(x[1])                                        \
                 : "l"(place)                                                                \
                 : "memory");                                                                \
  }                                                                                          \
  TILEWIRE_DEVICE void multimem_fetch(Operation, T, void* place, MultimemWord<T>(&x)[4]) {   \
    asm volatile("multimem.ld_reduce.weak.global." op ".v4." type " {%0, %1, %2, %3}, [%4];" \
                 : "=" letter(x[0]), "=" letter(x[1]), "=" letter(x[2]), "=" letter(x[3])    \
                 : "l"(place)                                                                \
                 : "memory");                                                                \
  }
TILEWIRE_MULTIMEM_FETCH(MultimemAdd, float, "add", "f32", "f")
TILEWIRE_MULTIMEM_FETCH(MultimemAdd, f16, "add.acc::f32", "f16x2", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMin, f16, "min", "f16x2", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMax, f16, "max", "f16x2", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemAdd, bf16, "add.acc::f32", "bf16x2", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMin, bf16, "min", "bf16x2", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMax, bf16, "max", "bf16x2", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemAdd, e4m3, "add.acc::f16", "e4m3x4", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMin, e4m3, "min", "e4m3x4", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMax, e4m3, "max", "e4m3x4", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemAdd, e5m2, "add.acc::f16", "e5m2x4", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMin, e5m2, "min", "e5m2x4", "r")
TILEWIRE_MULTIMEM_FETCH(MultimemMax, e5m2, "max", "e5m2x4", "r")
#undef TILEWIRE_MULTIMEM_FETCH

// The other way: `multimem_update` reduces words into all copies.
#define TILEWIRE_MULTIMEM_UPDATE(Operation, T, op, type, letter, one)                             \
  TILEWIRE_DEVICE void multimem_update(Operation, T, void* place, const MultimemWord<T>(&x)[1]){  \
      one} TILEWIRE_DEVICE void multimem_update(Operation, T, void* place,                        \
                                                const MultimemWord<T>(&x)[2]) {                   \
    asm volatile("multimem.red.relaxed.sys.global." op ".v2." type                                \
                 " [%0], {%1, %2}; // atomic" ::"l"(place),                                       \
                 letter(x[0]), letter(x[1])                                                       \
                 : "memory");                                                                     \
  }                                                                                               \
  TILEWIRE_DEVICE void multimem_update(Operation, T, void* place, const MultimemWord<T>(&x)[4]) { \
    asm volatile("multimem.red.relaxed.sys.global." op ".v4." type                                \
                 " [%0], {%1, %2, %3, %4}; // atomic" ::"l"(place),                               \
                 letter(x[0]), letter(x[1]), letter(x[2]), letter(x[3])                           \
                 : "memory");                                                                     \
  }
#define TILEWIRE_MULTIMEM_WORD(op, type, letter)                                                   \
  asm volatile("multimem.red.relaxed.sys.global." op "." type " [%0], %1; // atomic" ::"l"(place), \
               letter(x[0])                                                                        \
               : "memory");
// min and max take no f16x2 alone, but two f16.
#define TILEWIRE_MULTIMEM_HALVES(op, type)                                              \
  asm volatile("multimem.red.relaxed.sys.global." op ".v2." type                        \
               " [%0], {%1, %2}; // atomic" ::"l"(place),                               \
               "h"(static_cast<uint16_t>(x[0])), "h"(static_cast<uint16_t>(x[0] >> 16)) \
               : "memory");
TILEWIRE_MULTIMEM_UPDATE(MultimemAdd, float, "add", "f32", "f",
                         TILEWIRE_MULTIMEM_WORD("add", "f32", "f"))
TILEWIRE_MULTIMEM_UPDATE(MultimemAdd, f16, "add", "f16x2", "r",
                         TILEWIRE_MULTIMEM_WORD("add", "f16x2", "r"))
TILEWIRE_MULTIMEM_UPDATE(MultimemMin, f16, "min", "f16x2", "r",
                         TILEWIRE_MULTIMEM_HALVES("min", "f16"))
TILEWIRE_MULTIMEM_UPDATE(MultimemMax, f16, "max", "f16x2", "r",
                         TILEWIRE_MULTIMEM_HALVES("max", "f16"))
TILEWIRE_MULTIMEM_UPDATE(MultimemAdd, bf16, "add", "bf16x2", "r",
                         TILEWIRE_MULTIMEM_WORD("add", "bf16x2", "r"))
TILEWIRE_MULTIMEM_UPDATE(MultimemMin, bf16, "min", "bf16x2", "r",
                         TILEWIRE_MULTIMEM_HALVES("min", "bf16"))
TILEWIRE_MULTIMEM_UPDATE(MultimemMax, bf16, "max", "bf16x2", "r",
                         TILEWIRE_MULTIMEM_HALVES("max", "bf16"))
#undef TILEWIRE_MULTIMEM_HALVES
#undef TILEWIRE_MULTIMEM_WORD
#undef TILEWIRE_MULTIMEM_UPDATE

// Single elements of 32 and 64 bits.
#define TILEWIRE_MULTIMEM_ELEMENT(Operation, T, text, letter)                                 \
  TILEWIRE_DEVICE T multimem_fetch_element(Operation, T* place) {                             \
    T value;                                                                                  \
    asm volatile("multimem.ld_reduce.weak.global." text " %0, [%1];"                          \
                 : "=" letter(value)                                                          \
                 : "l"(place)                                                                 \
                 : "memory");                                                                 \
    return value;                                                                             \
  }                                                                                           \
  TILEWIRE_DEVICE void multimem_update_element(Operation, T* place, T value) {                \
    asm volatile("multimem.red.relaxed.sys.global." text " [%0], %1; // atomic" ::"l"(place), \
                 letter(value)                                                                \
                 : "memory");                                                                 \
  }
#define TILEWIRE_MULTIMEM_INTEGER(T, add, ordered, bits, letter)    \
  TILEWIRE_MULTIMEM_ELEMENT(MultimemAdd, T, "add." add, letter)     \
  TILEWIRE_MULTIMEM_ELEMENT(MultimemMin, T, "min." ordered, letter) \
  TILEWIRE_MULTIMEM_ELEMENT(MultimemMax, T, "max." ordered, letter) \
  TILEWIRE_MULTIMEM_ELEMENT(MultimemAnd, T, "and." bits, letter)    \
  TILEWIRE_MULTIMEM_ELEMENT(MultimemOr, T, "or." bits, letter)      \
  TILEWIRE_MULTIMEM_ELEMENT(MultimemXor, T, "xor." bits, letter)
TILEWIRE_MULTIMEM_INTEGER(int32_t, "s32", "s32", "b32", "r")
TILEWIRE_MULTIMEM_INTEGER(uint32_t, "u32", "u32", "b32", "r")
TILEWIRE_MULTIMEM_INTEGER(int64_t, "u64", "s64", "b64", "l")
TILEWIRE_MULTIMEM_INTEGER(uint64_t, "u64", "u64", "b64", "l")
TILEWIRE_MULTIMEM_ELEMENT(MultimemAdd, float, "add.f32", "f")
TILEWIRE_MULTIMEM_ELEMENT(MultimemAdd, double, "add.f64", "d")
#undef TILEWIRE_MULTIMEM_INTEGER
#undef TILEWIRE_MULTIMEM_ELEMENT

}  // namespace tilewire::device
