#include <cstdlib>

#include "tests/scratch.h"

namespace {

/// Gives this binary a disk cache of its own before the environment is first read, or the one that
/// a parent process shares with it.
struct CacheFolder {
  CacheFolder() {
    const char* shared = std::getenv("TILEWIRE_TEST_CACHE");
    ::setenv("TILEWIRE_CACHE_DIR", shared != nullptr ? shared : scratch.path().c_str(), 1);
  }
  ScratchFolder scratch;
};

const CacheFolder cache_folder;

}  // namespace
