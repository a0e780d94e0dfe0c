// Stands in for libcu++'s `<cuda/atomic>`, whose front end alone takes NVRTC a third of a second.
// Same names, same values, and the same instructions: `atomic_thread_fence`, and `atomic_ref` of 32
// and 64 bits with load, store, fetch_add, fetch_max and compare_exchange, which is what NCCL uses;
// all but load and store only where TILEWIRE_NVRTC_ATOMIC_RMW is defined (they cost front-end
// time).
#pragma once

#include "tilewire/nvrtc/standard.cuh"

#if defined(__CUDACC_RTC__)

namespace cuda {

enum memory_order {
  memory_order_relaxed = 0,
  memory_order_consume = 1,
  memory_order_acquire = 2,
  memory_order_release = 3,
  memory_order_acq_rel = 4,
  memory_order_seq_cst = 5
};

enum thread_scope {
  thread_scope_system = 0,
  thread_scope_device = 1,
  thread_scope_block = 2,
  thread_scope_thread = 10
};

// Runs `statement` with the name of a scope, as PTX spells it, in SCOPE. A thread's own scope is
// served by its CTA's.
#define TILEWIRE_FOR_SCOPE(statement)                   \
  if constexpr (kScope == thread_scope_system) {        \
    statement(".sys")                                   \
  } else if constexpr (kScope == thread_scope_device) { \
    statement(".gpu")                                   \
  } else {                                              \
    statement(".cta")                                   \
  }

template <thread_scope kScope>
__device__ __forceinline__ void fence_sc() {
#define TILEWIRE_FENCE(scope) asm volatile("fence.sc" scope ";" ::: "memory");
  TILEWIRE_FOR_SCOPE(TILEWIRE_FENCE)
#undef TILEWIRE_FENCE
}

template <thread_scope kScope>
__device__ __forceinline__ void fence_acq_rel(){
#define TILEWIRE_FENCE(scope) asm volatile("fence.acq_rel" scope ";" ::: "memory");
    TILEWIRE_FOR_SCOPE(TILEWIRE_FENCE)
#undef TILEWIRE_FENCE
}

__device__ __forceinline__
    void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  if (order == memory_order_relaxed) return;
  const bool sc = order == memory_order_seq_cst;
  switch (scope) {
    case thread_scope_system:
      return sc ? fence_sc<thread_scope_system>() : fence_acq_rel<thread_scope_system>();
    case thread_scope_device:
      return sc ? fence_sc<thread_scope_device>() : fence_acq_rel<thread_scope_device>();
    case thread_scope_block:
      return sc ? fence_sc<thread_scope_block>() : fence_acq_rel<thread_scope_block>();
    case thread_scope_thread:
      asm volatile("" ::: "memory");
  }
}

/// The bits of a 32- or 64-bit value, as a register of that width.
template <int kBytes>
struct AtomicBits {
  static_assert(kBytes == 4, "atomic_ref here serves 32 and 64 bits only");
  using Type = uint32_t;
};
template <>
struct AtomicBits<8> {
  using Type = uint64_t;
};

template <typename To, typename From>
__device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  union {
    From from;
    To to;
  } both = {from};
  return both.to;
}

template <typename T, thread_scope kScope = thread_scope_system>
class atomic_ref {
  using Bits = typename AtomicBits<sizeof(T)>::Type;

 public:
  __device__ __forceinline__ explicit atomic_ref(T& object) : pointer_(&object) {}

  __device__ __forceinline__ T load(memory_order order = memory_order_seq_cst) const {
    Bits bits;
    if (order == memory_order_seq_cst) fence_sc<kScope>();
#define TILEWIRE_LOAD(scope)                                                                    \
  if constexpr (sizeof(T) == 8) {                                                               \
    if (order == memory_order_relaxed) {                                                        \
      asm volatile("ld.relaxed" scope ".b64 %0,[%1];" : "=l"(bits) : "l"(pointer_) : "memory"); \
    } else {                                                                                    \
      asm volatile("ld.acquire" scope ".b64 %0,[%1];" : "=l"(bits) : "l"(pointer_) : "memory"); \
    }                                                                                           \
  } else {                                                                                      \
    if (order == memory_order_relaxed) {                                                        \
      asm volatile("ld.relaxed" scope ".b32 %0,[%1];" : "=r"(bits) : "l"(pointer_) : "memory"); \
    } else {                                                                                    \
      asm volatile("ld.acquire" scope ".b32 %0,[%1];" : "=r"(bits) : "l"(pointer_) : "memory"); \
    }                                                                                           \
  }
    TILEWIRE_FOR_SCOPE(TILEWIRE_LOAD)
#undef TILEWIRE_LOAD
    return bits_as<T>(bits);
  }

  __device__ __forceinline__ void store(T value, memory_order order = memory_order_seq_cst) const {
    const Bits bits = bits_as<Bits>(value);
    if (order == memory_order_seq_cst) fence_sc<kScope>();
    const bool release = order == memory_order_release;
#define TILEWIRE_STORE(scope)                                                                 \
  if constexpr (sizeof(T) == 8) {                                                             \
    if (release) {                                                                            \
      asm volatile("st.release" scope ".b64 [%0],%1;" ::"l"(pointer_), "l"(bits) : "memory"); \
    } else {                                                                                  \
      asm volatile("st.relaxed" scope ".b64 [%0],%1;" ::"l"(pointer_), "l"(bits) : "memory"); \
    }                                                                                         \
  } else {                                                                                    \
    if (release) {                                                                            \
      asm volatile("st.release" scope ".b32 [%0],%1;" ::"l"(pointer_), "r"(bits) : "memory"); \
    } else {                                                                                  \
      asm volatile("st.relaxed" scope ".b32 [%0],%1;" ::"l"(pointer_), "r"(bits) : "memory"); \
    }                                                                                         \
  }
    TILEWIRE_FOR_SCOPE(TILEWIRE_STORE)
#undef TILEWIRE_STORE
  }

#if defined(TILEWIRE_NVRTC_ATOMIC_RMW)
  // One instruction per order; a sequentially consistent one is an acquire behind a fence.
#define TILEWIRE_RMW_ORDERS(scope, instruction, type, constraint)        \
  switch (order) {                                                       \
    case memory_order_relaxed:                                           \
      TILEWIRE_RMW_ONE("relaxed", scope, instruction, type, constraint); \
      break;                                                             \
    case memory_order_release:                                           \
      TILEWIRE_RMW_ONE("release", scope, instruction, type, constraint); \
      break;                                                             \
    case memory_order_acq_rel:                                           \
      TILEWIRE_RMW_ONE("acq_rel", scope, instruction, type, constraint); \
      break;                                                             \
    default:                                                             \
      TILEWIRE_RMW_ONE("acquire", scope, instruction, type, constraint); \
  }
#define TILEWIRE_RMW_ONE(order_name, scope, instruction, type, constraint) \
  asm volatile("atom." order_name scope instruction type " %0,[%1],%2;"    \
               : "=" constraint(before)                                    \
               : "l"(pointer_), constraint(bits)                           \
               : "memory")
#define TILEWIRE_RMW(name, instruction, narrow, wide)                                           \
  __device__ __forceinline__ T name(T value, memory_order order = memory_order_seq_cst) const { \
    const Bits bits = bits_as<Bits>(value);                                                     \
    Bits before;                                                                                \
    if (order == memory_order_seq_cst) fence_sc<kScope>();                                      \
    if constexpr (sizeof(T) == 8) {                                                             \
      if constexpr (kScope == thread_scope_system) {                                            \
        TILEWIRE_RMW_ORDERS(".sys", instruction, wide, "l")                                     \
      } else if constexpr (kScope == thread_scope_device) {                                     \
        TILEWIRE_RMW_ORDERS(".gpu", instruction, wide, "l")                                     \
      } else {                                                                                  \
        TILEWIRE_RMW_ORDERS(".cta", instruction, wide, "l")                                     \
      }                                                                                         \
    } else {                                                                                    \
      if constexpr (kScope == thread_scope_system) {                                            \
        TILEWIRE_RMW_ORDERS(".sys", instruction, narrow, "r")                                   \
      } else if constexpr (kScope == thread_scope_device) {                                     \
        TILEWIRE_RMW_ORDERS(".gpu", instruction, narrow, "r")                                   \
      } else {                                                                                  \
        TILEWIRE_RMW_ORDERS(".cta", instruction, narrow, "r")                                   \
      }                                                                                         \
    }                                                                                           \
    return bits_as<T>(before);                                                                  \
  }
  // Integers: two's complement makes one addition serve both signs; the order of values does not.
  TILEWIRE_RMW(fetch_add, ".add", ".u32", ".u64")
  TILEWIRE_RMW(fetch_max_unsigned, ".max", ".u32", ".u64")
  TILEWIRE_RMW(fetch_max_signed, ".max", ".s32", ".s64")
  __device__ __forceinline__ T fetch_max(T value, memory_order order = memory_order_seq_cst) const {
    static_assert(T(1) / 2 == T(0), "integers only");
    return T(-1) < T(0) ? fetch_max_signed(value, order) : fetch_max_unsigned(value, order);
  }
#undef TILEWIRE_RMW
#undef TILEWIRE_RMW_ONE
#undef TILEWIRE_RMW_ORDERS

  /// Compares and swaps once: true, or `expected` becomes what was there. The order on failure is
  /// part of that on success.
  __device__ __forceinline__ bool compare_exchange_strong(
      T& expected, T desired, memory_order order = memory_order_seq_cst,
      memory_order /*failure*/ = memory_order_seq_cst) const {
    const Bits want = bits_as<Bits>(expected);
    const Bits bits = bits_as<Bits>(desired);
    Bits before;
    if (order == memory_order_seq_cst) fence_sc<kScope>();
#define TILEWIRE_CAS_ONE(order_name, scope, type, constraint)         \
  asm volatile("atom." order_name scope ".cas" type " %0,[%1],%2,%3;" \
               : "=" constraint(before)                               \
               : "l"(pointer_), constraint(want), constraint(bits)    \
               : "memory")
#define TILEWIRE_CAS(scope)                            \
  if constexpr (sizeof(T) == 8) {                      \
    if (order == memory_order_relaxed)                 \
      TILEWIRE_CAS_ONE("relaxed", scope, ".b64", "l"); \
    else                                               \
      TILEWIRE_CAS_ONE("acq_rel", scope, ".b64", "l"); \
  } else {                                             \
    if (order == memory_order_relaxed)                 \
      TILEWIRE_CAS_ONE("relaxed", scope, ".b32", "r"); \
    else                                               \
      TILEWIRE_CAS_ONE("acq_rel", scope, ".b32", "r"); \
  }
    TILEWIRE_FOR_SCOPE(TILEWIRE_CAS)
#undef TILEWIRE_CAS
#undef TILEWIRE_CAS_ONE
    const bool same = before == want;
    expected = bits_as<T>(before);
    return same;
  }
  __device__ __forceinline__ bool compare_exchange_weak(
      T& expected, T desired, memory_order order = memory_order_seq_cst,
      memory_order failure = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, desired, order, failure);
  }
#endif  // TILEWIRE_NVRTC_ATOMIC_RMW

 private:
  T* pointer_;
};

#undef TILEWIRE_FOR_SCOPE

namespace std {
using namespace ::cuda;
}  // namespace std

}  // namespace cuda

#endif  // __CUDACC_RTC__
