#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/jit/nccl_headers.h"

/// Runs a test on the headers of NCCL's releases that `.ci/nccl-headers` has fetched, oldest first.
/// Where a minor version that tilewire knows is missing, the test fails in continuous integration
/// (CI is set) and is skipped elsewhere; both say what to do.
using OfRelease = std::function<void(const tilewire::NcclHeaders&)>;
void for_each_nccl_release(const OfRelease& test);

/// What compiles a text needs of NCCL's headers: the network's where it is about GIN.
tilewire::NcclForm form_of(const std::string& source);

/// A text of tests/nvrtc/probes.
std::string probe_text(const std::string& name);
