#pragma once

#include <cstdint>
#include <optional>

#include "bindings/dlpack.h"

namespace tilewire::bindings {

/// The CUDA stream that the framework in use would launch on now.
///
/// Asks `api` (of an argument's type) where given, else PyTorch where it is imported, through its
/// exchange API or, before 2.10, its raw-stream getter; the legacy default stream (0) where no
/// framework is there to ask, and where PyTorch is but has not used CUDA and cannot tell. Absent,
/// with a Python exception set, where the framework failed.
/// Holds the GIL.
std::optional<std::uintptr_t> current_stream(int device_index, const dlpack::ExchangeApi* api);

}  // namespace tilewire::bindings
