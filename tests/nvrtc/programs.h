#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

/// The first example (`norm_program`) for arguments that are contiguous and aligned to 16 bytes.
/// Row length `h` is a constant, the number of rows isn't.
tilewire::Program allreduce_rmsnorm(const tilewire::Target& target, tilewire::DType dtype,
                                    std::int64_t h);

/// `sm_90a:world=2`, the first target of most tests.
tilewire::Target gpu_target(const std::string& architecture = "sm_90a", int world_size = 2);
