#include "compiler/support/shared_library.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/scratch.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

/// A real shared library under another name: the C library's maths part, copied.
fs::path place_library(const fs::path& folder, const std::string& soname) {
  const auto real = loaded_library({.name = "libm", .sonames = {"libm.so.6"}});
  REQUIRE(real);
  fs::create_directories(folder);
  fs::copy_file(real->path(), folder / soname);
  return folder / soname;
}

/// Registers wheel folders while it lives.
struct ScopedSitePackages {
  explicit ScopedSitePackages(const fs::path& folder) { set_site_packages({folder}); }
  ~ScopedSitePackages() { set_site_packages({}); }
};

}  // namespace

TEST_CASE("A library that is loaded already is taken from the process", "[library]") {
  const LibraryDescription description = {.name = "libm", .sonames = {"libm.so.6"}};
  const auto loaded = loaded_library(description);
  REQUIRE(loaded);
  CHECK(fs::exists(loaded->path()));
  CHECK(load_library(description).path() == loaded->path());
  CHECK(locate_library(description) == loaded->path());
  CHECK(loaded->function<double (*)(double)>("sqrt")(9.0) == 3.0);
  CHECK_THROWS_AS(loaded->function<void (*)()>("no_such_function"), BackendError);
}

TEST_CASE("Wheels of CUDA 12 and 13 are found where they lay libraries", "[library]") {
  for (const char* package : {"cuda_nvrtc", "cu13", "nccl"}) {
    const ScratchFolder scratch;
    // A soname of its own each time: what is loaded once stays loaded.
    const std::string soname = std::string("libtilewire_") + package + ".so.1";
    const auto file = place_library(scratch.path() / "nvidia" / package / "lib", soname);
    const ScopedSitePackages site(scratch.path());
    const LibraryDescription description = {.name = "wheel", .sonames = {soname}};
    CHECK(locate_library(description) == file);
    CHECK(load_library(description).path() == file);
  }
}

TEST_CASE("The named folder comes before or after wheels, as described", "[library]") {
  const ScratchFolder scratch;
  const std::string soname = "libtilewire_order.so.1";
  const auto wheel = place_library(scratch.path() / "site" / "nvidia" / "nccl" / "lib", soname);
  const auto home = place_library(scratch.path() / "home" / "lib", soname);
  const ScopedSitePackages site(scratch.path() / "site");
  LibraryDescription description = {
      .name = "order", .sonames = {soname}, .home = scratch.path() / "home"};
  CHECK(locate_library(description) == wheel);
  description.home_first = true;
  CHECK(locate_library(description) == home);
}

TEST_CASE("The newest soname wins inside one folder", "[library]") {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "lib";
  place_library(folder, "libtilewire_two.so.12");
  const auto newer = place_library(folder, "libtilewire_two.so.13");
  const LibraryDescription description = {
      .name = "two",
      .sonames = {"libtilewire_two.so.13", "libtilewire_two.so.12"},
      .home = scratch.path()};
  CHECK(locate_library(description) == newer);
}
