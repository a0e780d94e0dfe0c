#include "runtime/driver/launch_registry.h"

#include <mutex>
#include <unordered_map>

namespace tilewire {
namespace {

constexpr std::size_t kMaxLaunches = 4096;

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, std::string> names;
};

Registry& registry() {
  static auto* registry = new Registry;  // the watchdog may ask until the process ends
  return *registry;
}

}  // namespace

void register_launch(std::uint32_t hash, const std::string& name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.names.size() < kMaxLaunches) all.names.emplace(hash, name);
}

std::optional<std::string> find_launch(std::uint32_t hash) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.names.find(hash);
  return found == all.names.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tilewire
