#pragma once

#include <cstdint>
#include <string>

#include "compiler/jit/artifact.h"

namespace tilewire {

/// The wait sites of every kernel that this process has loaded, numbered through, so that a hang
/// report names its line even while later launches are queued behind the one that hangs.
/// A kernel's sites have consecutive numbers from its base, which travels in `device::Lane`.

/// Adds the artifact's sites; returns the number of the first one.
std::uint32_t register_wait_sites(const Artifact& artifact);

/// A wait site and the kernel it belongs to. For a number that nobody registered: unknown location
/// and a text that says so.
struct KernelWaitSite {
  std::string kernel;
  WaitSite site;
};
KernelWaitSite find_wait_site(std::uint32_t number);

}  // namespace tilewire
