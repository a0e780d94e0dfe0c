#include "compiler/support/environment.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "compiler/jit/components.h"
#include "compiler/support/shared_library.h"
#include "runtime/doctor.h"
#include "runtime/driver/kernel.h"

namespace py = pybind11;

namespace tilewire::bindings {

void bind_environment(py::module_& module) {
  module.def("environment_seed", [] { return Environment::get().seed; });
  module.def("environment_variables", &Environment::variable_names);
  module.def("set_site_packages", &set_site_packages, py::arg("folders"),
             "Folders with Python wheels to look for CUDA and NCCL in.");
  py::class_<ComponentReport>(module, "ComponentReport", "One thing that tilewire stands on.")
      .def_readonly("name", &ComponentReport::name)
      .def_readonly("found_path", &ComponentReport::found_path)
      .def_readonly("version", &ComponentReport::version)
      .def_readonly("usable_for", &ComponentReport::usable_for)
      .def_readonly("problem", &ComponentReport::problem)
      .def_readonly("remedy", &ComponentReport::remedy);
  module.def(
      "report_components",
      [] {
        std::vector<ComponentReport> reports = report_components();
        for (ComponentReport& gpu : report_gpus()) reports.push_back(std::move(gpu));
        return reports;
      },
      "What this machine has of what tilewire stands on; throws nothing.");
  module.def(
      "choose_grid",
      [](const Artifact& artifact, const std::vector<std::int64_t>& extents, int limit) {
        return choose_grid(artifact, extents, limit);
      },
      py::arg("artifact"), py::arg("extents"), py::arg("limit"),
      "The grid of `tw.auto` for these run-time dimensions, at most `limit`.");
}

}  // namespace tilewire::bindings
