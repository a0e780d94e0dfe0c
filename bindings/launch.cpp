#include "bindings/bindings.h"
#include "bindings/cpu_arguments.h"
#include "bindings/launch_target.h"
#include "bindings/launcher.h"
#include "bindings/signature.h"
#include "bindings/window.h"

namespace tilewire::bindings {

void bind_launch(pybind11::module_& module) {
  bind_window(module);
  bind_signature(module);
  bind_cpu_arguments(module);
  bind_launch_target(module);
  bind_recording_target(module);
  bind_launcher(module);
}

}  // namespace tilewire::bindings
