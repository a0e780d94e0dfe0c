#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/jit/nccl_headers.h"

/// What a C++ program prints that the host's compiler makes of `source` and NCCL's unchanged
/// headers. The CUDA headers that these include are replaced by the few names that they need.
std::string run_on_host(const tilewire::NcclHeaders& headers, const std::string& source);

/// What the host's compiler says of integral constant expressions over NCCL's structs, with these
/// of its headers included.
std::vector<std::uint64_t> ask_host_compiler(const tilewire::NcclHeaders& headers,
                                             const std::vector<std::string>& includes,
                                             const std::vector<std::string>& expressions);

/// The header with the structs that the host hands to NCCL: one of its own since 2.32.
std::string nccl_host_header(const tilewire::NcclHeaders& headers);
