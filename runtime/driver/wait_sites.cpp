#include "runtime/driver/wait_sites.h"

#include <mutex>
#include <vector>

namespace tilewire {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<KernelWaitSite> sites;
};

Registry& registry() {
  static auto* registry = new Registry;  // the watchdog may ask until the process ends
  return *registry;
}

}  // namespace

std::uint32_t register_wait_sites(const Artifact& artifact) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto base = static_cast<std::uint32_t>(all.sites.size());
  for (const WaitSite& site : artifact.wait_sites) all.sites.push_back({artifact.kernel, site});
  return base;
}

KernelWaitSite find_wait_site(std::uint32_t number) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (number < all.sites.size()) return all.sites[number];
  return {.kernel = "?", .site = {.location = {}, .what = "a wait that no loaded kernel has"}};
}

}  // namespace tilewire
