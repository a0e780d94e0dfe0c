// The GPU's atomic instructions on global memory, all relaxed, by operation, type and scope.
#pragma once

#include "tilewire/operators.cuh"
#include "tilewire/order.cuh"

namespace tilewire::device {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kAddsBf16 = false;
#else
inline constexpr bool kAddsBf16 = true;
#endif
template <typename T>
inline constexpr bool kIsBf16 = false;
template <>
inline constexpr bool kIsBf16<bf16> = true;

// What an atomic does. `kIsInstruction`: the GPU has it for elements of type T; `kReduces`: also
// one that doesn't fetch what was there before.
struct AtomicAdd {
  static constexpr bool kReduces = true;
  template <typename T>
  static constexpr bool kIsInstruction = kAddsBf16 || !kIsBf16<T>;
  template <typename T>
  static TILEWIRE_DEVICE T of(T before, T value) {
    return Narrow<T>::of(Add::of(widen(before), widen(value)));
  }
};
struct AtomicMin {
  static constexpr bool kReduces = true;
  template <typename T>
  static constexpr bool kIsInstruction = kKind<T> == Kind::kInteger;
  template <typename T>
  static TILEWIRE_DEVICE T of(T before, T value) {
    return Narrow<T>::of(Minimum::of(widen(before), widen(value)));
  }
};
struct AtomicMax {
  static constexpr bool kReduces = true;
  template <typename T>
  static constexpr bool kIsInstruction = kKind<T> == Kind::kInteger;
  template <typename T>
  static TILEWIRE_DEVICE T of(T before, T value) {
    return Narrow<T>::of(Maximum::of(widen(before), widen(value)));
  }
};
/// Of the bits of integers, for all of which the GPU has them.
struct AtomicBitwise {
  static constexpr bool kReduces = true;
  template <typename T>
  static constexpr bool kIsInstruction = true;
};
struct AtomicAnd : AtomicBitwise {};
struct AtomicOr : AtomicBitwise {};
struct AtomicXor : AtomicBitwise {};
struct AtomicExchange {
  static constexpr bool kReduces = false;
  template <typename T>
  static constexpr bool kIsInstruction = sizeof(T) >= 4;
  template <typename T>
  static TILEWIRE_DEVICE T of(T, T value) {
    return value;
  }
};
struct AtomicCas {};

// An instruction on registers of one type. Its scope is part of its name.
#define TILEWIRE_FETCH(Operation, Register, text, letter)                     \
  template <Scope kScope>                                                     \
  TILEWIRE_DEVICE Register fetch(Operation, void* place, Register value) {    \
    Register before;                                                          \
    if constexpr (kScope == Scope::kCta) {                                    \
      asm volatile("atom.relaxed.cta.global." text " %0, [%1], %2; // atomic" \
                   : "=" letter(before)                                       \
                   : "l"(place), letter(value)                                \
                   : "memory");                                               \
    } else if constexpr (kScope == Scope::kGpu) {                             \
      asm volatile("atom.relaxed.gpu.global." text " %0, [%1], %2; // atomic" \
                   : "=" letter(before)                                       \
                   : "l"(place), letter(value)                                \
                   : "memory");                                               \
    } else {                                                                  \
      asm volatile("atom.relaxed.sys.global." text " %0, [%1], %2; // atomic" \
                   : "=" letter(before)                                       \
                   : "l"(place), letter(value)                                \
                   : "memory");                                               \
    }                                                                         \
    return before;                                                            \
  }
/// The same where nobody looks at what was there before.
#define TILEWIRE_UPDATE(Operation, Register, text, letter)               \
  template <Scope kScope>                                                \
  TILEWIRE_DEVICE void update(Operation, void* place, Register value) {  \
    if constexpr (kScope == Scope::kCta) {                               \
      asm volatile("red.relaxed.cta.global." text " [%0], %1; // atomic" \
                   :                                                     \
                   : "l"(place), letter(value)                           \
                   : "memory");                                          \
    } else if constexpr (kScope == Scope::kGpu) {                        \
      asm volatile("red.relaxed.gpu.global." text " [%0], %1; // atomic" \
                   :                                                     \
                   : "l"(place), letter(value)                           \
                   : "memory");                                          \
    } else {                                                             \
      asm volatile("red.relaxed.sys.global." text " [%0], %1; // atomic" \
                   :                                                     \
                   : "l"(place), letter(value)                           \
                   : "memory");                                          \
    }                                                                    \
  }
#define TILEWIRE_ATOMIC(Operation, Register, text, letter) \
  TILEWIRE_FETCH(Operation, Register, text, letter)        \
  TILEWIRE_UPDATE(Operation, Register, text, letter)

TILEWIRE_ATOMIC(AtomicAdd, int32_t, "add.u32", "r")
TILEWIRE_ATOMIC(AtomicAdd, uint32_t, "add.u32", "r")
TILEWIRE_ATOMIC(AtomicAdd, int64_t, "add.u64", "l")
TILEWIRE_ATOMIC(AtomicAdd, uint64_t, "add.u64", "l")
TILEWIRE_ATOMIC(AtomicAdd, float, "add.f32", "f")
TILEWIRE_ATOMIC(AtomicAdd, double, "add.f64", "d")
TILEWIRE_ATOMIC(AtomicMin, int32_t, "min.s32", "r")
TILEWIRE_ATOMIC(AtomicMin, uint32_t, "min.u32", "r")
TILEWIRE_ATOMIC(AtomicMin, int64_t, "min.s64", "l")
TILEWIRE_ATOMIC(AtomicMin, uint64_t, "min.u64", "l")
TILEWIRE_ATOMIC(AtomicMax, int32_t, "max.s32", "r")
TILEWIRE_ATOMIC(AtomicMax, uint32_t, "max.u32", "r")
TILEWIRE_ATOMIC(AtomicMax, int64_t, "max.s64", "l")
TILEWIRE_ATOMIC(AtomicMax, uint64_t, "max.u64", "l")
#define TILEWIRE_ATOMIC_BITWISE(T, bits, letter)     \
  TILEWIRE_ATOMIC(AtomicAnd, T, "and." bits, letter) \
  TILEWIRE_ATOMIC(AtomicOr, T, "or." bits, letter)   \
  TILEWIRE_ATOMIC(AtomicXor, T, "xor." bits, letter)
TILEWIRE_ATOMIC_BITWISE(int32_t, "b32", "r")
TILEWIRE_ATOMIC_BITWISE(uint32_t, "b32", "r")
TILEWIRE_ATOMIC_BITWISE(int64_t, "b64", "l")
TILEWIRE_ATOMIC_BITWISE(uint64_t, "b64", "l")
#undef TILEWIRE_ATOMIC_BITWISE
TILEWIRE_FETCH(AtomicExchange, int32_t, "exch.b32", "r")
TILEWIRE_FETCH(AtomicExchange, uint32_t, "exch.b32", "r")
TILEWIRE_FETCH(AtomicExchange, int64_t, "exch.b64", "l")
TILEWIRE_FETCH(AtomicExchange, uint64_t, "exch.b64", "l")
TILEWIRE_FETCH(AtomicExchange, float, "exch.b32", "f")
TILEWIRE_FETCH(AtomicExchange, double, "exch.b64", "d")

struct AddF16 {};
TILEWIRE_ATOMIC(AddF16, uint16_t, "add.noftz.f16", "h")
#if __CUDA_ARCH__ >= 900
struct AddBf16 {};
TILEWIRE_ATOMIC(AddBf16, uint16_t, "add.noftz.bf16", "h")
#endif
#undef TILEWIRE_ATOMIC
#undef TILEWIRE_UPDATE
#undef TILEWIRE_FETCH

// 16-bit floats go to their instructions as bits.
template <Scope kScope>
TILEWIRE_DEVICE f16 fetch(AtomicAdd, void* place, f16 value) {
  return {fetch<kScope>(AddF16(), place, value.bits)};
}
template <Scope kScope>
TILEWIRE_DEVICE void update(AtomicAdd, void* place, f16 value) {
  update<kScope>(AddF16(), place, value.bits);
}
#if __CUDA_ARCH__ >= 900
template <Scope kScope>
TILEWIRE_DEVICE bf16 fetch(AtomicAdd, void* place, bf16 value) {
  return {fetch<kScope>(AddBf16(), place, value.bits)};
}
template <Scope kScope>
TILEWIRE_DEVICE void update(AtomicAdd, void* place, bf16 value) {
  update<kScope>(AddBf16(), place, value.bits);
}
#endif

#define TILEWIRE_SWAP(Bits, text, letter)                                             \
  template <Scope kScope>                                                             \
  TILEWIRE_DEVICE Bits swap(void* place, Bits value, Bits compare) {                  \
    Bits before;                                                                      \
    if constexpr (kScope == Scope::kCta) {                                            \
      asm volatile("atom.relaxed.cta.global.cas." text " %0, [%1], %2, %3; // atomic" \
                   : "=" letter(before)                                               \
                   : "l"(place), letter(compare), letter(value)                       \
                   : "memory");                                                       \
    } else if constexpr (kScope == Scope::kGpu) {                                     \
      asm volatile("atom.relaxed.gpu.global.cas." text " %0, [%1], %2, %3; // atomic" \
                   : "=" letter(before)                                               \
                   : "l"(place), letter(compare), letter(value)                       \
                   : "memory");                                                       \
    } else {                                                                          \
      asm volatile("atom.relaxed.sys.global.cas." text " %0, [%1], %2, %3; // atomic" \
                   : "=" letter(before)                                               \
                   : "l"(place), letter(compare), letter(value)                       \
                   : "memory");                                                       \
    }                                                                                 \
    return before;                                                                    \
  }
TILEWIRE_SWAP(uint16_t, "b16", "h")
TILEWIRE_SWAP(uint32_t, "b32", "r")
TILEWIRE_SWAP(uint64_t, "b64", "l")
#undef TILEWIRE_SWAP

}  // namespace tilewire::device
