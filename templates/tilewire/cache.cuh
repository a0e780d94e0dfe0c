// How single words are read and written: what caches should do with them.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

enum class Cache {
  kDefault,
  kConstant,   ///< `.nc`: nobody writes it during the launch
  kStreaming,  ///< `.cs`: touched once
  kLast,       ///< `L2::evict_last`: stays in the L2 cache as long as possible
  kL2,         ///< `.cg`: in the L2 cache only
  kThrough,    ///< `.wt`: stores go on to memory
};

#if defined(__CUDACC__)
TILEWIRE_DEVICE uint64_t evict_last_policy() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Loads and stores under an L2 policy, by width.
TILEWIRE_DEVICE uint8_t load_last(const uint8_t* from) {
  uint32_t word;
  asm volatile("ld.global.L2::cache_hint.u8 %0, [%1], %2;"
               : "=r"(word)
               : "l"(from), "l"(evict_last_policy())
               : "memory");
  return static_cast<uint8_t>(word);
}
TILEWIRE_DEVICE uint16_t load_last(const uint16_t* from) {
  uint16_t word;
  asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;"
               : "=h"(word)
               : "l"(from), "l"(evict_last_policy())
               : "memory");
  return word;
}
TILEWIRE_DEVICE uint32_t load_last(const uint32_t* from) {
  uint32_t word;
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;"
               : "=r"(word)
               : "l"(from), "l"(evict_last_policy())
               : "memory");
  return word;
}
TILEWIRE_DEVICE uint2 load_last(const uint2* from) {
  uint2 word;
  asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
               : "=r"(word.x), "=r"(word.y)
               : "l"(from), "l"(evict_last_policy())
               : "memory");
  return word;
}
TILEWIRE_DEVICE uint4 load_last(const uint4* from) {
  uint4 word;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "l"(from), "l"(evict_last_policy())
               : "memory");
  return word;
}
TILEWIRE_DEVICE void store_last(uint8_t* to, uint8_t word) {
  asm volatile("st.global.L2::cache_hint.u8 [%0], %1, %2;" ::"l"(to), "r"(uint32_t{word}),
               "l"(evict_last_policy())
               : "memory");
}
TILEWIRE_DEVICE void store_last(uint16_t* to, uint16_t word) {
  asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" ::"l"(to), "h"(word),
               "l"(evict_last_policy())
               : "memory");
}
TILEWIRE_DEVICE void store_last(uint32_t* to, uint32_t word) {
  asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(to), "r"(word),
               "l"(evict_last_policy())
               : "memory");
}
TILEWIRE_DEVICE void store_last(uint2* to, uint2 word) {
  asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(to), "r"(word.x),
               "r"(word.y), "l"(evict_last_policy())
               : "memory");
}
TILEWIRE_DEVICE void store_last(uint4* to, uint4 word) {
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(word.x),
               "r"(word.y), "r"(word.z), "r"(word.w), "l"(evict_last_policy())
               : "memory");
}

// Plain stores of vectors, in PTX so that they stay whole: the compiler takes an assignment apart
// and puts it together again only where it still knows the alignment.
template <typename W>
TILEWIRE_DEVICE void store_plain(W* to, W word) {
  *to = word;
}
TILEWIRE_DEVICE void store_plain(uint2* to, uint2 word) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(word.x), "r"(word.y) : "memory");
}
TILEWIRE_DEVICE void store_plain(uint4* to, uint4 word) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(word.x), "r"(word.y),
               "r"(word.z), "r"(word.w)
               : "memory");
}

/// Reads one word (`Word<bytes>::type`).
template <Cache kCache, typename W>
TILEWIRE_DEVICE W fetch(W* from) {
  if constexpr (kCache == Cache::kConstant) return __ldg(from);
  if constexpr (kCache == Cache::kStreaming) return __ldcs(from);
  if constexpr (kCache == Cache::kL2) return __ldcg(from);
  if constexpr (kCache == Cache::kLast) return load_last(from);
  if constexpr (kCache == Cache::kDefault) return *from;
}
/// Writes one word.
template <Cache kCache, typename W>
TILEWIRE_DEVICE void put(W* to, W word) {
  if constexpr (kCache == Cache::kStreaming) return __stcs(to, word);
  if constexpr (kCache == Cache::kL2) return __stcg(to, word);
  if constexpr (kCache == Cache::kThrough) return __stwt(to, word);
  if constexpr (kCache == Cache::kLast) return store_last(to, word);
  if constexpr (kCache == Cache::kDefault) return store_plain(to, word);
}
#else
template <Cache, typename W>
W fetch(W* from) {
  return *from;
}
template <Cache, typename W>
void put(W* to, W word) {
  *to = word;
}
#endif

}  // namespace tilewire::device
