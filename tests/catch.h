#pragma once

// Catch2 by its one header (version 2, Debian 12) or its many (version 3, Ubuntu 24.04).
#if defined(TILEWIRE_CATCH2_V3)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace tilewire::test {

/// A matcher for a part of a text.
inline auto contains(const std::string& part) {
#if defined(TILEWIRE_CATCH2_V3)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace tilewire::test
