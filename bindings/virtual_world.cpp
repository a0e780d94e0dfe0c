#include "bindings/bindings.h"

#ifdef TILEWIRE_HAVE_LLVM

#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/codegen/cpu/codegen.h"
#include "runtime/cpu/launch_control.h"
#include "runtime/cpu/virtual_world.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// What one rank launches, from Python: (kernel, grid, slots, lane), or None.
using PythonLaunch = std::optional<
    std::tuple<const CpuKernel*, std::array<std::int64_t, 3>, std::vector<std::uint64_t>, int>>;

/// Runs the signal handlers that are due: Ctrl-C's raises KeyboardInterrupt. Python runs them on
/// its main thread only.
void run_signal_handlers() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

RankLaunch as_launch(const PythonLaunch& launch) {
  if (!launch) return {};
  return {std::get<0>(*launch), std::get<1>(*launch), std::get<2>(*launch), std::get<3>(*launch)};
}

void launch(VirtualWorld& world, const std::vector<PythonLaunch>& launches) {
  std::vector<RankLaunch> ranks;
  for (const PythonLaunch& each : launches) ranks.push_back(as_launch(each));
  const py::gil_scoped_release release;
  world.launch(ranks);
}

void begin(VirtualWorld& world, int rank, const PythonLaunch& launch) {
  world.begin(rank, as_launch(launch));
}

}  // namespace

void bind_virtual_world(py::module_& module) {
  enable_cpu_target();
  set_interrupt_check(run_signal_handlers);
  module.attr("has_cpu_target") = true;
  py::class_<CpuKernel>(module, "CpuKernel", "A CPU kernel's machine code, loaded.")
      .def(py::init([](const Artifact& artifact) { return CpuKernel(artifact); }),
           py::arg("artifact"));
  py::class_<HostWindow, std::shared_ptr<HostWindow>>(module, "HostWindow",
                                                      "Every rank's copy in host memory.")
      .def_property_readonly("copies", [](const HostWindow& self) {
        return std::vector<std::uint64_t>(self.addresses(), self.addresses() + self.world_size());
      });
  py::class_<VirtualWorld, std::shared_ptr<VirtualWorld>>(
      module, "VirtualWorld", "Any number of ranks in this process, on the CPU.")
      .def(py::init<int, int, std::uint64_t, bool>(), py::arg("world_size"), py::arg("lsa_size"),
           py::arg("seed"), py::arg("multimem") = false)
      .def_property("resident_limit", &VirtualWorld::resident_limit,
                    &VirtualWorld::set_resident_limit)
      .def("make_window", &VirtualWorld::make_window, py::arg("num_bytes"))
      .def("make_lane", &VirtualWorld::make_lane, py::arg("number"))
      .def("launch", &launch, py::arg("launches"),
           "One (kernel, (x, y, z), slots, lane) per rank, or None for a rank that launches "
           "nothing.")
      .def("begin", &begin, py::arg("rank"), py::arg("launch"),
           "Begins the launch of one rank; `run_until_one_ends` runs it.")
      .def("run_until_one_ends", &VirtualWorld::run_until_one_ends,
           py::call_guard<py::gil_scoped_release>(),
           "Runs the launches under way until one has ended, and gives its rank.")
      .def(
          "notify",
          [](VirtualWorld& self, std::uintptr_t address) {
            self.notify(reinterpret_cast<const void*>(address));
          },
          py::arg("address"), "Says that the host changed what kernels may wait for there.")
      .def("drain_network", &VirtualWorld::drain_network, py::call_guard<py::gil_scoped_release>(),
           "Delivers what is under way in the network.")
      .def("end", &VirtualWorld::end,
           "From any thread: launches under way, and later ones, fail with HangError soon.")
      .def("run_for_a_while", &VirtualWorld::run_for_a_while,
           py::call_guard<py::gil_scoped_release>(),
           "Runs the launches under way for some turns, or none.");
}

}  // namespace tilewire::bindings

#else

namespace tilewire::bindings {

void bind_virtual_world(pybind11::module_& module) { module.attr("has_cpu_target") = false; }

}  // namespace tilewire::bindings

#endif
