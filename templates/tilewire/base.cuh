// What every device header stands on: function qualifiers and element types.
//
// The headers compile three ways: by NVRTC, by nvcc, and (where they hold nothing but arithmetic)
// by the host's compiler, where unit tests check them exhaustively.
#pragma once

#if defined(__CUDACC_RTC__)
#include <stdint.h>
#else
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#endif

#if defined(__CUDACC__)
#define TILEWIRE_DEVICE __device__ __forceinline__
#define TILEWIRE_CONSTEXPR __host__ __device__ __forceinline__ constexpr
#define TILEWIRE_ROLLED _Pragma("unroll 1")
#if defined(TILEWIRE_TILES_IN_LOCAL_MEMORY)  // by a program whose tiles no registers can hold
#define TILEWIRE_UNROLL TILEWIRE_ROLLED
#else
#define TILEWIRE_UNROLL _Pragma("unroll")
#endif
#else
#define TILEWIRE_DEVICE inline
#define TILEWIRE_CONSTEXPR constexpr
#define TILEWIRE_UNROLL
#define TILEWIRE_ROLLED
#endif

namespace tilewire::device {

// Floats narrower than 32 bits are stored as their bits; arithmetic happens in f32.
struct alignas(2) f16 {
  uint16_t bits;
};
struct alignas(2) bf16 {
  uint16_t bits;
};
struct e4m3 {
  uint8_t bits;
};
struct e5m2 {
  uint8_t bits;
};

TILEWIRE_DEVICE float float_of_bits(uint32_t bits) {
#if defined(__CUDACC__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

TILEWIRE_DEVICE uint32_t bits_of_float(float value) {
#if defined(__CUDACC__)
  return __float_as_uint(value);
#else
  return std::bit_cast<uint32_t>(value);
#endif
}

enum class Kind { kBool, kInteger, kFloat, kNarrowFloat };
template <typename T>
inline constexpr Kind kKind = Kind::kInteger;
template <>
inline constexpr Kind kKind<bool> = Kind::kBool;
template <>
inline constexpr Kind kKind<float> = Kind::kFloat;
template <>
inline constexpr Kind kKind<double> = Kind::kFloat;
template <>
inline constexpr Kind kKind<f16> = Kind::kNarrowFloat;
template <>
inline constexpr Kind kKind<bf16> = Kind::kNarrowFloat;
template <>
inline constexpr Kind kKind<e4m3> = Kind::kNarrowFloat;
template <>
inline constexpr Kind kKind<e5m2> = Kind::kNarrowFloat;

}  // namespace tilewire::device
