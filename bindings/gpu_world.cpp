#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/current_stream.h"
#include "bindings/launch_target.h"
#include "bindings/signature.h"
#include "bindings/window.h"
#include "runtime/driver/kernel.h"
#include "runtime/nccl/capabilities.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/virtual_ranks.h"
#include "runtime/nccl/world.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

using WithoutGil = py::call_guard<py::gil_scoped_release>;

cuda::Stream to_stream(std::uintptr_t handle) { return reinterpret_cast<cuda::Stream>(handle); }

/// UserError where the framework's current stream is being captured: `what` waits for the GPU.
void refuse_capture_now(const GpuWorld& world, std::string_view what) {
  const auto stream = current_stream(world.device().ordinal(), nullptr);
  if (!stream) throw py::error_already_set();
  const ContextGuard guard(world.device());
  refuse_capture(to_stream(*stream), what);
}

std::uintptr_t identity_of(const LaneGroup& lane) {
  return reinterpret_cast<std::uintptr_t>(&lane);
}

/// The rank's copy for this process's GPU; 0 where no load reaches it.
std::uint64_t address_or_zero(const Window& window, int rank) {
  return window.is_reachable(rank) ? window.address(rank) : 0;
}

/// One rank's arguments; nothing: it launches nothing.
using RankValues = std::optional<std::vector<py::object>>;

/// Binds and packs the arguments of each rank, and launches once for all of them.
void launch_ranks(VirtualRanks& world, const GpuKernel& kernel, std::optional<int> grid,
                  const std::vector<RankValues>& values, std::optional<std::uintptr_t> stream,
                  int lane_number) {
  const Artifact& artifact = kernel.artifact();
  if (!stream) {
    stream = current_stream(world.device().ordinal(), nullptr);
    if (!stream) throw py::error_already_set();
  }
  LaneGroup* lane = kernel.takes_lane() ? &world.lane(lane_number) : nullptr;
  const int limit = world.grid_limit(kernel, lane_number);
  std::vector<BoundArguments> bound;
  std::vector<ArgumentValue> slots(values.size() * artifact.arguments.size());
  std::vector<int> ranks;
  int least = limit;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    if (!values[rank]) continue;
    ranks.push_back(static_cast<int>(rank));
    bound.push_back(bind_arguments(artifact.kernel, artifact.parameters, artifact.dimensions,
                                   artifact.written, artifact.target, *values[rank], stream));
    std::ranges::copy(
        values_of(artifact, bound.back()),
        slots.begin() + static_cast<std::ptrdiff_t>(rank * artifact.arguments.size()));
    least = std::min(least, kernel.auto_grid(bound.back().dimensions, limit));
  }
  const int size = grid.value_or(least);
  if (lane != nullptr) lane->check_budget(artifact, size);
  kernel.check_grid(size, limit);
  const py::gil_scoped_release release;
  if (ranks.size() == values.size()) {
    world.launch(kernel, size, to_stream(*stream), slots.data(), lane);
  } else {
    world.launch_on(ranks, kernel, size, to_stream(*stream), slots.data(), lane);
  }
}

using GpuWorldClass = py::class_<GpuWorld, std::shared_ptr<GpuWorld>>;

void define_memory(GpuWorldClass& world) {
  world
      .def(
          "window",
          [](GpuWorld& self, std::size_t num_bytes, std::uintptr_t stream, const std::string& call,
             std::uint64_t num_signals) {
            return self.window(num_bytes, to_stream(stream), call, num_signals);
          },
          py::arg("num_bytes"), py::arg("stream"), py::arg("call") = "comm.window",
          py::arg("num_signals") = 0, WithoutGil())
      .def(
          "reserve",
          [](GpuWorld& self, std::size_t num_bytes, std::uintptr_t stream) {
            self.reserve(num_bytes, to_stream(stream));
          },
          py::arg("num_bytes"), py::arg("stream"), WithoutGil())
      .def(
          "fill",
          [](GpuWorld& self, const Window& memory, const std::string& image) {
            const py::gil_scoped_release release;
            self.fill(memory, image);
          },
          py::arg("memory"), py::arg("image"),
          "Collective: `image` (bytes), then zeros, on every rank, before it returns.")
      .def(
          "trim", [](GpuWorld& self, std::uintptr_t stream) { self.trim(to_stream(stream)); },
          py::arg("stream"), WithoutGil())
      .def(
          "free",
          [](GpuWorld& self, const Window& memory) {
            refuse_capture_now(self, "comm.free");
            const py::gil_scoped_release release;
            self.free(memory);
          },
          py::arg("memory"));
}

void define_lanes(GpuWorldClass& world) {
  world.def("grid_limit", &GpuWorld::grid_limit, py::arg("kernel"), py::arg("lane") = 0)
      .def(
          "agree_minimum",
          [](GpuWorld& self, const std::string& what, std::uint64_t agreement, int value) {
            return self.agree_minimum(what, agreement, value);
          },
          py::arg("what"), py::arg("agreement"), py::arg("value"), WithoutGil())
      .def(
          "set_first_lane",
          [](GpuWorld& self, int sms, bool exclusive) {
            self.set_first_lane({.num_sms = sms, .exclusive = exclusive});
          },
          py::arg("sms"), py::arg("exclusive"), WithoutGil(), "`sms`: 0 for no budget.")
      .def(
          "make_lane",
          [](GpuWorld& self, int number, int sms, bool exclusive, std::uintptr_t stream) {
            return identity_of(self.make_lane(number, {.num_sms = sms, .exclusive = exclusive},
                                              to_stream(stream)));
          },
          py::arg("number"), py::arg("sms"), py::arg("exclusive"), py::arg("stream"), WithoutGil(),
          "Its identity: what its windows have as `lane`.")
      .def(
          "lane_identity",
          [](const GpuWorld& self, int number) { return identity_of(self.lane(number)); },
          py::arg("number"));
}

constexpr std::array kFeatures = {Feature::kAtomics, Feature::kMultimem, Feature::kNetwork,
                                  Feature::kGraphs};

py::dict describe_rank(const Capabilities& capabilities, int rank) {
  const RankCapabilities& found = capabilities.of_rank()[static_cast<std::size_t>(rank)];
  py::list answers;
  for (const Feature feature : kFeatures) {
    answers.append(py::make_tuple(feature_name(feature), found[feature].has(),
                                  capabilities.reason(rank, feature)));
  }
  py::dict described;
  described["host"] = py::str(found.host);
  described["gpu"] = py::str(fmt::format("{} ({})", found.device_name, found.bus_id));
  described["first_of_team"] = found.first_of_team;
  described["lsa_size"] = found.lsa_size;
  described["nccl"] = NcclVersion::from_code(found.nccl_version).to_string();
  described["answers"] = answers;
  return described;
}

/// `(ranks, together)`: per rank who it is and its answers `(name, has, reason)`; for the world
/// `(name, has, reason, used for)`.
py::tuple describe_capabilities(const GpuWorld& world) {
  const Capabilities& capabilities = world.capabilities();
  py::list ranks;
  for (std::size_t rank = 0; rank < capabilities.of_rank().size(); ++rank) {
    ranks.append(describe_rank(capabilities, static_cast<int>(rank)));
  }
  py::list together;
  for (const Feature feature : kFeatures) {
    together.append(py::make_tuple(feature_name(feature), capabilities.has(feature),
                                   capabilities.why_not(feature), used_for(feature)));
  }
  return py::make_tuple(ranks, together);
}

void bind_world(py::module_& module) {
  py::class_<Window, std::shared_ptr<Window>>(module, "GpuMemory",
                                              "The memory of a window; belongs to its world.")
      .def("address", &address_or_zero, py::arg("rank"));
  GpuWorldClass world(module, "GpuWorld", "The ranks as this process sees them.");
  world.def_property_readonly("target", &GpuWorld::target)
      .def_property_readonly("rank", &GpuWorld::rank)
      .def_property_readonly("num_local_ranks", &GpuWorld::num_local_ranks)
      .def_property_readonly("device_ordinal",
                             [](const GpuWorld& self) { return self.device().ordinal(); })
      .def_property_readonly("capabilities", &describe_capabilities,
                             "What each rank found and what all have together, for tables.")
      .def_property_readonly("num_gin_contexts", &GpuWorld::num_gin_contexts)
      .def_property_readonly("num_gin_signals", &GpuWorld::num_gin_signals)
      .def_property_readonly("device_comm_bytes", &GpuWorld::device_comm_bytes)
      .def_property_readonly(
          "address", [](const GpuWorld& self) { return reinterpret_cast<std::uintptr_t>(&self); },
          "Tells worlds apart; what its windows have as `communicator`.")
      .def("barrier",
           [](GpuWorld& self) {
             refuse_capture_now(self, "comm.barrier");
             const py::gil_scoped_release release;
             self.barrier();
           })
      .def("check", &GpuWorld::check)
      .def_property_readonly("is_closed", &GpuWorld::is_closed)
      .def("synchronize", &GpuWorld::synchronize, WithoutGil())
      .def("abort", &GpuWorld::abort, WithoutGil())
      .def("close", &GpuWorld::close, WithoutGil());
  define_memory(world);
  define_lanes(world);
}

void bind_kinds_of_worlds(py::module_& module) {
  py::class_<Communicator, GpuWorld, std::shared_ptr<Communicator>>(module, "Communicator")
      .def_static("new_unique_id", [] { return py::bytes(Communicator::new_unique_id()); })
      .def_static(
          "create",
          [](const py::bytes& unique_id, int rank, int world_size, int device_ordinal) {
            const std::string id = unique_id;
            const py::gil_scoped_release release;
            return Communicator::create(id, rank, world_size, device_ordinal);
          },
          py::arg("unique_id"), py::arg("rank"), py::arg("world_size"), py::arg("device_ordinal"))
      .def_static(
          "adopt",
          [](std::uintptr_t nccl_comm) {
            return Communicator::adopt(reinterpret_cast<void*>(nccl_comm));
          },
          py::arg("nccl_comm"), WithoutGil());
  py::class_<VirtualRanks, GpuWorld, std::shared_ptr<VirtualRanks>>(module, "VirtualRanks")
      .def_static("create", &VirtualRanks::create, py::arg("world_size"), py::arg("device_ordinal"),
                  py::arg("lsa_size") = 0, WithoutGil())
      .def("leave_out", &VirtualRanks::leave_out, py::arg("ranks"),
           "Later launches leave these ranks out: for tests of what the others do then.");
}

}  // namespace

void bind_gpu_world(py::module_& module) {
  bind_world(module);
  bind_kinds_of_worlds(module);
  module.def(
      "attach_window",
      [](WindowObject& window, const std::shared_ptr<Window>& memory, int local_rank) {
        window.handle = memory->handle(local_rank);
      },
      py::arg("window"), py::arg("memory"), py::arg("local_rank"),
      "Gives a window what kernels on GPUs take.");
  module.def("launch_ranks", &launch_ranks, py::arg("world"), py::arg("kernel"), py::arg("grid"),
             py::arg("values"), py::arg("stream"), py::arg("lane") = 0,
             "Launches on all ranks of a virtual world; `values`: the arguments of each, or None "
             "where it launches nothing.");
}

}  // namespace tilewire::bindings
