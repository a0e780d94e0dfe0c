// Catch2 version 2 compiles its runner and `main` here, once for all test binaries.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
