#include <pybind11/stl.h>

#include <memory>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/current_stream.h"
#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/error.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/kernel.h"
#include "runtime/nccl/capabilities.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

bool takes_world(const GpuKernel& kernel) { return meets_others(kernel.artifact()); }

void bind_kernel(py::module_& module) {
  py::class_<GpuKernel, std::shared_ptr<GpuKernel>>(module, "GpuKernel",
                                                    "A kernel loaded on one GPU.")
      .def(py::init(
               [](int ordinal, std::shared_ptr<Artifact> artifact, std::size_t device_comm_bytes) {
                 return std::make_shared<GpuKernel>(Device::get(ordinal), std::move(artifact),
                                                    device_comm_bytes);
               }),
           py::arg("device_ordinal"), py::arg("artifact"), py::arg("device_comm_bytes"))
      .def_property_readonly(
          "two_sided", [](const GpuKernel& self) { return self.artifact().resources.two_sided; })
      .def_property_readonly("takes_world", &takes_world,
                             "Whether it needs a communicator: its lane, its windows, its rank.")
      .def_property_readonly("max_coresident_grid", &GpuKernel::max_coresident_grid)
      .def("check_grid", &GpuKernel::check_grid, py::arg("grid"), py::arg("limit") = 0);
}

}  // namespace

void bind_gpu_device(py::module_& module) {
  bind_kernel(module);
  module.def("device_count", &Device::count);
  module.def("current_device", &Device::current_ordinal);
  module.def(
      "device_architecture", [](int ordinal) { return Device::get(ordinal).architecture(); },
      py::arg("ordinal"), "`sm_90a`: what code for this GPU is compiled for.");
  module.def(
      "warm_up_nvrtc",
      [](int ordinal) {
        try {
          return warm_up_nvrtc(Device::get(ordinal).architecture());
        } catch (const Error&) {  // no such GPU, no driver: others say so
          return false;
        }
      },
      py::arg("ordinal"), py::call_guard<py::gil_scoped_release>(),
      "Has NVRTC compile a small kernel, so that the first real one takes no longer than later "
      "ones. Whether it could.");
  module.def(
      "current_stream",
      [](int ordinal) {
        const auto stream = current_stream(ordinal, nullptr);
        if (!stream) throw py::error_already_set();
        return *stream;
      },
      py::arg("ordinal"), "The handle of the stream that the framework in use launches on.");
}

}  // namespace tilewire::bindings
