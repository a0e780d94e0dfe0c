#pragma once

#include <string>
#include <string_view>

/// The machine code of a kernel in a cubin: its ELF section `.text.KERNEL`; empty where there is
/// none.
std::string machine_code(std::string_view cubin, std::string_view kernel);
