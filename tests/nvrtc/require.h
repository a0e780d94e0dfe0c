#pragma once

#include <memory>

#include "compiler/jit/nccl_headers.h"
#include "compiler/jit/nvrtc.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

// Ends the test, saying why, on a machine without what it needs.
#define TILEWIRE_REQUIRE_NVRTC()              \
  try {                                       \
    tilewire::Nvrtc::get();                   \
  } catch (const tilewire::BackendError& e) { \
    WARN("skipped: " << e.what());            \
    return;                                   \
  }

/// Null, saying why, where there are none: the caller ends its test.
inline std::shared_ptr<const tilewire::NcclHeaders> nccl_headers_or_null() {
  try {
    return tilewire::NcclHeaders::find();
  } catch (const tilewire::BackendError& e) {
    WARN("skipped: " << e.what());
    return nullptr;
  }
}
