#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/jit/artifact.h"
#include "runtime/cpu/host_window.h"

namespace tilewire {

/// The element type of a C++ type; those of 8 and 16 bits have none.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::kBool;
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) <= 8);
    return sizeof(T) == 4 ? DType::kF32 : DType::kF64;
  } else {
    static_assert(std::is_integral_v<T>);
    constexpr DType kSigned[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
    constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
    constexpr int kIndex = std::countr_zero(sizeof(T));
    return std::is_signed_v<T> ? kSigned[kIndex] : kUnsigned[kIndex];
  }
}

/// Memory of this process. The caller keeps it alive, and writable where the kernel stores to it.
struct HostTensor {
  void* data = nullptr;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements; empty: contiguous, row-major

  template <typename T>
  HostTensor(T* elements, std::vector<std::int64_t> extents)
      : data(const_cast<std::remove_const_t<T>*>(elements)),
        dtype(dtype_of<std::remove_const_t<T>>()),
        shape(std::move(extents)) {}
  HostTensor(void* elements, DType element_type, std::vector<std::int64_t> extents)
      : data(elements), dtype(element_type), shape(std::move(extents)) {}
};

/// A window of a virtual world, or an array of objects in one (its dtype is `object_dtype`); all
/// ranks pass the same.
struct HostWindowArgument {
  const HostWindow* window = nullptr;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
};

/// A scalar of exactly the parameter's dtype.
struct HostScalar {
  DType dtype = DType::kF32;
  std::uint64_t bits = 0;

  template <typename T>
  static HostScalar of(T value) {
    using Bits = std::conditional_t<
        sizeof(T) == 8, std::uint64_t,
        std::conditional_t<sizeof(T) == 4, std::uint32_t,
                           std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
    return {dtype_of<T>(), std::bit_cast<Bits>(value)};
  }
};

using HostArgument = std::variant<HostTensor, HostWindowArgument, HostScalar>;

/// One rank's arguments, in the order of the kernel's parameters, as `VirtualWorld::launch` takes
/// them. UserError names kernel, parameter, what was found and what was expected.
std::vector<std::uint64_t> pack_arguments(const Artifact& artifact,
                                          const std::vector<HostArgument>& arguments);

}  // namespace tilewire
