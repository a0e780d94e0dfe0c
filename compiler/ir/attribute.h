#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/dtype.h"

namespace tilewire {

/// A compile-time property of an op. In IR text: `3`, `0.5`, `true`, `"text"`, `bf16`, `[1, 2]`.
using Attribute =
    std::variant<std::int64_t, double, bool, std::string, DType, std::vector<std::int64_t>>;

/// Ordered by name, so that printing and hashing are deterministic.
using Attributes = std::map<std::string, Attribute, std::less<>>;

std::string to_string(const Attribute& attribute);

}  // namespace tilewire
