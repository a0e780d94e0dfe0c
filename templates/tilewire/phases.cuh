// Words that count phases of barriers or signals, and the instructions that write and read them.
//
// Each instruction says in a PTX comment what it is for; tests/python/test_ptx_rules.py reads them.
// `arrive released`: a fence of the same scope or a wider one stands before it on every way.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/base.cuh"
#include "tilewire/order.cuh"

namespace tilewire::device {

/// The phase that a word counted before this launch, or counts before this instance has arrived.
TILEWIRE_DEVICE uint32_t load_phase(uint32_t* word) {
  uint32_t phase;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1]; // own phase"
               : "=r"(phase)
               : "l"(word)
               : "memory");
  return phase;
}
TILEWIRE_DEVICE uint32_t load_phase_gpu(uint32_t* word) {
  uint32_t phase;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1]; // own phase"
               : "=r"(phase)
               : "l"(word)
               : "memory");
  return phase;
}

/// A look at a number that others count up, by those whose signals come from `kScope`.
template <Scope kScope>
TILEWIRE_DEVICE uint32_t load_acquire(const uint32_t* word) {
  uint32_t value;
  if constexpr (kScope == Scope::kSystem) {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1]; // poll"
                 : "=r"(value)
                 : "l"(word)
                 : "memory");
  } else {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1]; // poll"
                 : "=r"(value)
                 : "l"(word)
                 : "memory");
  }
  return value;
}
template <Scope kScope>
TILEWIRE_DEVICE int64_t load_acquire(const int64_t* word) {
  int64_t value;
  if constexpr (kScope == Scope::kSystem) {
    asm volatile("ld.acquire.sys.global.u64 %0, [%1]; // poll"
                 : "=l"(value)
                 : "l"(word)
                 : "memory");
  } else {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1]; // poll"
                 : "=l"(value)
                 : "l"(word)
                 : "memory");
  }
  return value;
}
/// Looks whether others have arrived.
template <bool kAcquires>
TILEWIRE_DEVICE uint32_t poll_phase(uint32_t* word) {
  if constexpr (kAcquires) return load_acquire<Scope::kSystem>(word);
  uint32_t phase;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1]; // poll" : "=r"(phase) : "l"(word) : "memory");
  return phase;
}
template <bool kAcquires>
TILEWIRE_DEVICE uint32_t poll_phase_gpu(uint32_t* word) {
  if constexpr (kAcquires) return load_acquire<Scope::kGpu>(word);
  uint32_t phase;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1]; // poll" : "=r"(phase) : "l"(word) : "memory");
  return phase;
}

/// A look without order, for what is looked at again where it matters.
template <Scope kScope>
TILEWIRE_DEVICE int64_t load_relaxed(const int64_t* word) {
  int64_t value;
  if constexpr (kScope == Scope::kSystem) {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1]; // own phase"
                 : "=l"(value)
                 : "l"(word)
                 : "memory");
  } else {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1]; // own phase"
                 : "=l"(value)
                 : "l"(word)
                 : "memory");
  }
  return value;
}

/// Tells a peer a phase.
template <bool kReleased>
TILEWIRE_DEVICE void store_phase(uint32_t* word, uint32_t phase) {
  if constexpr (kReleased) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1; // arrive released" ::"l"(word), "r"(phase)
                 : "memory");
  } else {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1; // arrive" ::"l"(word), "r"(phase)
                 : "memory");
  }
}
/// Adds an arrival.
template <bool kReleased>
TILEWIRE_DEVICE void arrive_system(uint32_t* word, uint32_t count) {
  if constexpr (kReleased) {
    asm volatile("red.relaxed.sys.global.add.u32 [%0], %1; // arrive released" ::"l"(word),
                 "r"(count)
                 : "memory");
  } else {
    asm volatile("red.relaxed.sys.global.add.u32 [%0], %1; // arrive" ::"l"(word), "r"(count)
                 : "memory");
  }
}
/// One that instances of this rank are told of, behind a fence of the GPU's scope, at a word that
/// peers arrive at too.
TILEWIRE_DEVICE void arrive_here(uint32_t* word, uint32_t count) {
  asm volatile("red.relaxed.sys.global.add.u32 [%0], %1; // arrive released here" ::"l"(word),
               "r"(count)
               : "memory");
}
template <bool kReleased>
TILEWIRE_DEVICE void arrive_gpu(uint32_t* word, uint32_t count) {
  if constexpr (kReleased) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1; // arrive released" ::"l"(word),
                 "r"(count)
                 : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1; // arrive" ::"l"(word), "r"(count)
                 : "memory");
  }
}

}  // namespace tilewire::device
