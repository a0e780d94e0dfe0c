#pragma once

#include <pybind11/pybind11.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/dlpack.h"
#include "compiler/ir/dtype.h"

namespace tilewire::bindings {

inline constexpr int kMaxRank = 8;

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

/// Where memory lies: `cpu`, `cuda:0`.
struct ArrayDevice {
  DeviceKind kind;
  int index;  ///< -1 where the producer doesn't say
  bool operator==(const ArrayDevice&) const = default;
  std::string to_string() const;
};

/// Any array that Python code passed, as plain data. The memory is the caller's: it stays valid
/// while the object and what `Owners` holds are alive. On purpose without initialisers: it is made
/// per argument and launch, and only `rank` elements of the arrays are ever written.
struct ArrayArgument {
  void* data;
  DType dtype;
  ArrayDevice device;
  bool read_only;  ///< the producer says so; PyTorch tensors never are
  int rank;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank];  ///< in elements, any sign; of an empty array: without meaning

  std::int64_t num_elements() const;
  /// Row-major without gaps, as far as can be seen: strides of extents 0 and 1 don't count, and an
  /// array without elements is contiguous.
  bool is_contiguous() const;
  /// `alignment_of` the address.
  int alignment() const;
  /// In GPU memory that is in no window.
  bool is_local_only() const;
  /// Whether a tensor map can describe it.
  bool is_mappable() const;
};

/// The largest power of two, up to 16, that divides an address; of null: 16.
inline int alignment_of(const void* address) {
  return 1 << std::countr_zero(reinterpret_cast<std::uintptr_t>(address) | 16);
}

/// Python objects (capsules, buffers) that must outlive the use of what was read from them.
using Owners = std::vector<pybind11::object>;

/// Reads an array through the first protocol that its type offers and that serves: DLPack's C
/// exchange API (PyTorch), the buffer protocol (NumPy with ml_dtypes, memoryview, array), a
/// `__dlpack__` capsule, `__cuda_array_interface__`. A tilewire window gives this rank's copy.
///
/// `stream` is the CUDA stream on which the array will be used, for producers that want to know it
/// (the handle; absent: no synchronisation is asked for). UserError starts with `what` ("kernel
/// `f`: argument `x`") and names the type found and what is accepted. Holds the GIL.
ArrayArgument read_array(PyObject* object, std::string_view what,
                         std::optional<std::uintptr_t> stream, Owners& owners);

/// As `read_array`; absent where the object's type offers none of the protocols.
std::optional<ArrayArgument> try_read_array(PyObject* object, std::string_view what,
                                            std::optional<std::uintptr_t> stream, Owners& owners);

/// The exchange API of a type; null where it has none of a version that is understood. Never
/// leaves a Python exception set. The answer holds for the type's lifetime and may be cached.
const dlpack::ExchangeApi* exchange_api_of(PyTypeObject* type);

/// Copies what an exchange API or a capsule says; false where dtype, device or rank has no meaning
/// here. No Python code runs.
bool convert_tensor(const dlpack::Tensor& tensor, ArrayArgument& out);

std::optional<DType> dtype_from_dlpack(dlpack::DataType dtype);
dlpack::DataType to_dlpack(DType dtype);
std::optional<ArrayDevice> device_from_dlpack(dlpack::Device device);
dlpack::Device to_dlpack(ArrayDevice device);

/// A scalar argument as the bits of `dtype`, in the low bytes; the others are zero. Takes Python's
/// and NumPy's bools, integers and floats: an integer goes into any dtype that holds it (into a
/// float rounded to nearest even), a float into floats only, rounded to nearest even. UserError
/// where it doesn't fit, is of another kind, or is an array (of rank 0, too: reading one would
/// wait for the device).
std::uint64_t read_scalar(PyObject* object, DType dtype, std::string_view what);

/// Whether an object is a number as `read_scalar` takes it: one of Python's, or a NumPy scalar of a
/// dtype that tilewire has.
bool is_number(PyObject* object);

/// A number of one of the types above as an exact Python int, bool or float; null where it is no
/// number that `dtype` takes.
pybind11::object plain_number(PyObject* object, DType dtype);

/// `read_scalar` without exceptions for exact Python floats, ints and bools; false where it is not
/// one of these or doesn't fit.
bool try_read_scalar(PyObject* object, DType dtype, std::uint64_t& bits);

/// `numpy.ndarray`, `torch.Tensor`, `int`: how a message names an object's type.
std::string type_name(PyObject* object);

}  // namespace tilewire::bindings
