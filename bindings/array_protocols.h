#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/arguments.h"

namespace tilewire::bindings {

/// One object on its way through the protocols below.
struct ArrayRequest {
  PyObject* object;
  std::string_view what;                 ///< in front of messages
  std::optional<std::uintptr_t> stream;  ///< where the array will be used
  Owners& owners;
  /// Why protocols that the type offers didn't serve: "`__dlpack__` failed: …".
  std::vector<std::string> refusals;
};

// Each reads the object if its type offers the protocol. Absent where it doesn't, or, with a reason
// added to `refusals`, where it does and failed: another protocol may serve. UserError where what
// it describes can't be an argument.
std::optional<ArrayArgument> read_exchange_api(ArrayRequest& request);
std::optional<ArrayArgument> read_buffer(ArrayRequest& request);
std::optional<ArrayArgument> read_capsule(ArrayRequest& request);
std::optional<ArrayArgument> read_cuda_interface(ArrayRequest& request);

/// Row-major without gaps, for the array's shape.
void set_contiguous_strides(ArrayArgument& array);

/// An attribute of an object, or null, with no exception set.
pybind11::object attribute_or_null(PyObject* object, const char* name);

/// The dtype of an object with NumPy's or PyTorch's `dtype` attribute, by its name (`bfloat16`,
/// `torch.float8_e4m3fn`); absent where it has none in native byte order that tilewire knows.
std::optional<DType> dtype_of_object(PyObject* object);

/// The dtype of a NumPy-like name: `float32`, `bfloat16`, `float8_e4m3fn`, `bool`.
std::optional<DType> dtype_from_numpy_name(std::string_view name);
/// The other way: `float8_e4m3fn` for e4m3.
std::string_view numpy_name(DType dtype);

/// What a struct-module format or an array-interface type string says, or nothing: kind is one of
/// `b` (bool), `i`, `u`, `f`; size in bytes.
std::optional<DType> dtype_from_kind(char kind, std::int64_t num_bytes);

}  // namespace tilewire::bindings
