// Messages of a kernel: what `printf` takes, and assertions, which end the kernel.
#pragma once

#include "tilewire/fp8.cuh"
#include "tilewire/group.cuh"
#include "tilewire/operators.cuh"
#include "tilewire/report_layout.cuh"

#if !defined(TILEWIRE_ASSERTFAIL)
#define TILEWIRE_ASSERTFAIL
/// Prints to stderr and ends the kernel with CUDA_ERROR_ASSERT; the driver has it.
extern "C" __device__ void __assertfail(const char* message, const char* file, unsigned line,
                                        const char* function, size_t char_bytes);
#endif

namespace tilewire::device {

/// A value as `printf` takes it: `%g`, `%lld`, `%llu` or `%s`.
template <typename T>
TILEWIRE_DEVICE auto printable(T value) {
  if constexpr (kKind<T> == Kind::kBool) {
    return value ? "True" : "False";
  } else if constexpr (kKind<T> != Kind::kInteger) {
    return static_cast<double>(widen(value));
  } else if constexpr (T(-1) < T(0)) {
    return static_cast<long long>(value);
  } else {
    return static_cast<unsigned long long>(value);
  }
}

/// Brings the elements that a line shows to `shared`. Nobody may be using it, and the threads must
/// meet before they are read.
template <typename TileType>
TILEWIRE_DEVICE void show(const TileType& tile, void* shared) {
  using L = typename Operand<TileType>::Layout;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    const int place = shown_place(L::kElements, L::element(threadIdx.x, i));
    if (!L::owns(threadIdx.x, i) || place < 0) continue;
    static_cast<typename Operand<TileType>::Element*>(shared)[place] = element(tile, i);
  }
}
/// The one at a place.
template <typename T>
TILEWIRE_DEVICE auto shown(const void* shared, int place) {
  return printable(static_cast<const T*>(shared)[place]);
}

/// Calls `tell(element, slot)` for each element of a tile, by the thread that owns it.
template <typename TileType, typename Tell>
TILEWIRE_DEVICE void for_each_element(const TileType&, const Tell& tell) {
  using L = typename Operand<TileType>::Layout;
  for (int i = 0; i < L::kRegisters; ++i) {
    if (L::owns(threadIdx.x, i)) tell(L::element(threadIdx.x, i), i);
  }
}

/// Where an assertion stands in the user's program.
struct Assertion {
  const char* message;
  const char* file;
  unsigned line;
  const char* kernel;

  TILEWIRE_DEVICE void fail() const { __assertfail(message, file, line, kernel, 1); }
};

/// Unless a scalar condition holds: one thread calls `tell()`, then the kernel ends.
template <typename Group = ProgramThreads, typename Tell>
TILEWIRE_DEVICE void check(bool condition, const Assertion& assertion, const Tell& tell) {
  if (condition) return;
  if (Group::index() == 0) {
    tell();
    assertion.fail();
  }
  Group::meet();
}

/// Unless a condition holds everywhere: the thread that owns the first element where it doesn't
/// calls `tell(element, slot)`, then the kernel ends. The CTA's threads meet inside.
template <typename TileType, typename Tell>
TILEWIRE_DEVICE void check_all(const TileType& condition, const Assertion& assertion,
                               const Tell& tell) {
  using L = typename Operand<TileType>::Layout;
  int first = L::kElements;
  int slot = 0;
  TILEWIRE_UNROLL
  for (int i = L::kRegisters - 1; i >= 0; --i) {
    const int index = L::element(threadIdx.x, i);
    if (!L::owns(threadIdx.x, i) || element(condition, i) || index > first) continue;
    first = index;
    slot = i;
  }
  if (!meet_any(first < L::kElements)) return;
  for (int index = 0; index < L::kElements; ++index) {
    if (!meet_any(first == index)) continue;
    if (first == index) {
      tell(index, slot);
      assertion.fail();
    }
    meet();
  }
}

}  // namespace tilewire::device
