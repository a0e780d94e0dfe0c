// Stands in for the parts of the host's headers that NCCL's device headers use: NVRTC has none of
// its own. Included under their names (`stdint.h`, `cassert`, `linux/types.h`, …).
#pragma once

#if defined(__CUDACC_RTC__)

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using intptr_t = long;
using uintptr_t = unsigned long;
using ptrdiff_t = long;

#define UINT32_MAX 0xffffffffu
#define UINT64_MAX 0xfffffffffffffffful
#define INT_MIN (-0x7fffffff - 1)
#define INT_MAX 0x7fffffff
#ifndef NULL
#define NULL 0
#endif

// linux/types.h
using __u8 = uint8_t;
using __u16 = uint16_t;
using __u32 = uint32_t;
using __u64 = uint64_t;
using __be16 = uint16_t;
using __be32 = uint32_t;
using __be64 = uint64_t;

// errno.h, with Linux's numbers.
#define EIO 5
#define EAGAIN 11
#define EBUSY 16
#define EINVAL 22
#define ETIMEDOUT 110
#define EOPNOTSUPP 95

#ifndef offsetof
#define offsetof(type, member) __INTADDR__(&(((type*)0)->member))
#endif
#ifndef assert
#define assert(condition) static_cast<void>(0)
#endif

namespace tilewire::nvrtc {
template <typename T>
struct RemoveReference {
  using Type = T;
};
template <typename T>
struct RemoveReference<T&> {
  using Type = T;
};
template <typename T>
struct RemoveReference<T&&> {
  using Type = T;
};
template <typename T>
using RemovedReference = typename RemoveReference<T>::Type;
}  // namespace tilewire::nvrtc

// NVRTC lacks the first, and gives a reference for the second where GCC gives none.
#define typeof(expression) ::tilewire::nvrtc::RemovedReference<decltype(expression)>
#define __typeof__(expression) typeof(expression)
#define __builtin_memcpy memcpy

// There is no host code in NVRTC: what NCCL declares for the host and for both is the device's.
#undef __host__
#define __host__

#endif  // __CUDACC_RTC__
