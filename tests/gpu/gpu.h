#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/driver/memory.h"
#include "tests/catch.h"

namespace tilewire::test {

/// Why GPU tests can't run here; empty where they can.
std::string why_no_gpu();

/// Ends the test case, saying why, where there is no GPU.
#define TILEWIRE_NEEDS_GPU()                                                  \
  if (const std::string why = ::tilewire::test::why_no_gpu(); !why.empty()) { \
    WARN("skipped: " << why);                                                 \
    return;                                                                   \
  }

void upload(cuda::DevicePointer to, std::span<const std::byte> bytes);
std::vector<std::byte> download(cuda::DevicePointer from, std::size_t num_bytes);

}  // namespace tilewire::test
