// Sums in memory by vectors of up to 16 bytes, one instruction each: every element is added by
// itself, so that it is the same as one instruction for each.
#pragma once

#include "tilewire/atomics.cuh"

namespace tilewire::device {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// `red` on vectors. Its scope is part of its name.
#define TILEWIRE_RED(text, operands, ...)                                                      \
  if constexpr (kScope == Scope::kCta) {                                                       \
    asm volatile("red.relaxed.cta.global." text " [%0], " operands "; // atomic" ::"l"(place), \
                 __VA_ARGS__                                                                   \
                 : "memory");                                                                  \
  } else if constexpr (kScope == Scope::kGpu) {                                                \
    asm volatile("red.relaxed.gpu.global." text " [%0], " operands "; // atomic" ::"l"(place), \
                 __VA_ARGS__                                                                   \
                 : "memory");                                                                  \
  } else {                                                                                     \
    asm volatile("red.relaxed.sys.global." text " [%0], " operands "; // atomic" ::"l"(place), \
                 __VA_ARGS__                                                                   \
                 : "memory");                                                                  \
  }

template <Scope kScope>
TILEWIRE_DEVICE void add_words(void* place, const float (&x)[4]) {
  TILEWIRE_RED("add.v4.f32", "{%1, %2, %3, %4}", "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]))
}
template <Scope kScope>
TILEWIRE_DEVICE void add_words(void* place, const float (&x)[2]){
    TILEWIRE_RED("add.v2.f32", "{%1, %2}", "f"(x[0]), "f"(x[1]))}
#define TILEWIRE_RED_OF_HALVES(T, name)                                                     \
  template <Scope kScope>                                                                   \
  TILEWIRE_DEVICE void add_halves(T, void* place, const uint32_t(&x)[4]) {                  \
    TILEWIRE_RED("add.noftz.v4." name, "{%1, %2, %3, %4}", "r"(x[0]), "r"(x[1]), "r"(x[2]), \
                 "r"(x[3]))                                                                 \
  }                                                                                         \
  template <Scope kScope>                                                                   \
  TILEWIRE_DEVICE void add_halves(T, void* place, const uint32_t(&x)[2]) {                  \
    TILEWIRE_RED("add.noftz.v2." name, "{%1, %2}", "r"(x[0]), "r"(x[1]))                    \
  }                                                                                         \
  template <Scope kScope>                                                                   \
  TILEWIRE_DEVICE void add_halves(T, void* place, const uint32_t(&x)[1]) {                  \
    TILEWIRE_RED("add.noftz." name, "%1", "r"(x[0]))                                        \
  }
TILEWIRE_RED_OF_HALVES(f16, "f16x2") TILEWIRE_RED_OF_HALVES(bf16, "bf16x2")
#undef TILEWIRE_RED_OF_HALVES
#undef TILEWIRE_RED

    template <Scope kScope, int kVector, typename V>
    TILEWIRE_DEVICE void add_vector(float* place, const V& values, int slot) {
  float x[kVector];
  TILEWIRE_UNROLL
  for (int j = 0; j < kVector; ++j) x[j] = element(values, slot + j);
  add_words<kScope>(place, x);
}
template <Scope kScope, int kVector, typename T, typename V>
TILEWIRE_DEVICE void add_vector(T* place, const V& values, int slot) {
  uint32_t x[kVector / 2];
  TILEWIRE_UNROLL
  for (int j = 0; j < kVector; j += 2) {
    const T low = element(values, slot + j);
    const T high = element(values, slot + j + 1);
    x[j / 2] = low.bits | uint32_t{high.bits} << 16;
  }
  add_halves<kScope>(T(), place, x);
}
inline constexpr bool kAddsVectors = true;
#else
template <Scope kScope, int kVector, typename T, typename V>
TILEWIRE_DEVICE void add_vector(T*, const V&, int) {}
inline constexpr bool kAddsVectors = false;
#endif

/// `atomic<TileType, AtomicAdd, …>` where `kVector` elements are contiguous and aligned together.
template <typename TileType, int kVector, Order kOrder, Scope kScope, typename A, typename Where,
          typename V>
TILEWIRE_DEVICE void add_to_memory(const A& access, const Where& where, const V& values) {
  using L = typename TileType::Layout;
  static_assert(L::kVector % kVector == 0);
  if constexpr (!kAddsVectors) {
    return atomic<TileType, AtomicAdd, kOrder, kScope>(access, where, values);
  } else {
    release<kOrder, kScope>();
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; i += kVector) {
      if (!L::owns(threadIdx.x, i)) continue;
      const Run run = run_of<L, kVector>(access, i);
      if (is_whole<kVector>(run, where, i)) {
        add_vector<kScope, kVector>(access.pointer + run.offset, values, i);
        continue;
      }
      TILEWIRE_UNROLL
      for (int j = 0; j < kVector; ++j) {
        if (j < run.first || j >= run.last || !element(where, i + j)) continue;
        update_one<AtomicAdd, kScope>(access.pointer + run.offset + j, element(values, i + j));
      }
    }
  }
}

}  // namespace tilewire::device
