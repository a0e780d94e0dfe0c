#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bindings/bindings.h"
#include "runtime/driver/copy.h"
#include "runtime/driver/driver.h"
#include "runtime/nccl/stream_order.h"
#include "templates/tilewire/object_layout.cuh"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

cuda::Stream to_stream(std::uintptr_t handle) { return reinterpret_cast<cuda::Stream>(handle); }

void copy(int device, std::uint64_t to, std::uint64_t from, std::size_t row_bytes,
          std::size_t num_rows, std::size_t to_pitch, std::size_t from_pitch,
          std::uintptr_t stream) {
  copy_memory(Device::get(device), {to, from, row_bytes, num_rows, to_pitch, from_pitch},
              to_stream(stream));
}

/// Keeps pieces of work in order that may be put into different streams, or into one graph.
class StreamChain {
 public:
  explicit StreamChain(int device) : device_(Device::get(device)), event_(device_) {}

  /// What `stream` is given next runs behind what the last stream holds now.
  void next(std::uintptr_t handle) {
    const cuda::Stream stream = to_stream(handle);
    if (order_.is_settled(stream)) return;
    const ContextGuard guard(device_);
    const std::optional<cuda::Stream> before = order_.next(stream, capture_of(stream));
    if (before) event_.chain(*before, stream);
  }

 private:
  const Device& device_;
  OwnedEvent event_;
  StreamOrder order_;
};

/// What an object whose launches are counted holds when so many have ended.
py::bytes launch_state_image(int world_size, std::int64_t launches) {
  std::string image(device::launch_state_bytes(world_size), '\0');
  device::LaunchState state = {};
  state.word = device::word_after(launches);
  state.num_fills = launches;
  image.replace(0, sizeof(state), reinterpret_cast<const char*>(&state), sizeof(state));
  for (int rank = 0; rank < world_size; ++rank) {
    image.replace(device::started_offset(static_cast<std::uint64_t>(rank)), sizeof(launches),
                  reinterpret_cast<const char*>(&launches), sizeof(launches));
  }
  return image;
}

}  // namespace

void bind_copies(py::module_& module) {
  module.def("copy_memory", &copy, py::arg("device"), py::arg("to"), py::arg("from"),
             py::arg("row_bytes"), py::arg("num_rows"), py::arg("to_pitch"), py::arg("from_pitch"),
             py::arg("stream"), "Puts a copy of rows into a stream, for a copy engine.");
  py::class_<StreamChain>(module, "StreamChain", "Keeps work on several streams in order.")
      .def(py::init<int>(), py::arg("device"))
      .def("next", &StreamChain::next, py::arg("stream"));
  module.def(
      "launch_state_image", &launch_state_image, py::arg("world_size"), py::arg("launches"),
      "The start of an array of flags or rotating window after so many launches, for tests.");
  module.attr("num_fills_offset") = offsetof(device::LaunchState, num_fills);
  module.def(
      "flag_offset",
      [](int world_size, std::uint64_t index) { return device::flag_offset(world_size, index); },
      py::arg("world_size"), py::arg("index"), "Of a flag in an array's memory.");
  module.def(
      "filled_offset",
      [](int world_size, std::uint64_t index) {
        return device::flag_offset(world_size, index) + offsetof(device::FlagElement, filled);
      },
      py::arg("world_size"), py::arg("index"), "Of the number of a flag's last fill.");
}

}  // namespace tilewire::bindings
