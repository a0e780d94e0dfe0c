#pragma once

#include <memory>
#include <string>

namespace tilewire {

/// An object file linked into this process, unloaded with the last owner.
struct LoadedObject {
  std::shared_ptr<void> code;  ///< keeps it mapped
  void* entry = nullptr;
};

/// Links `object` against `cpu_symbols()` and nothing else, and finds `entry` in it. Exceptions
/// pass through its functions. BackendError where it doesn't link; `name` stands in the message.
LoadedObject load_object(const std::string& object, const std::string& entry,
                         const std::string& name);

}  // namespace tilewire
