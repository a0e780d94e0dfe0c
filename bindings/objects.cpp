#include <fmt/format.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "compiler/ir/object.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

using Fields = std::vector<std::pair<DType, std::vector<std::int64_t>>>;

ChannelType make_channel_type(const Fields& fields, std::int64_t depth,
                              const std::string& carrying) {
  ChannelType type;
  for (const auto& [dtype, shape] : fields) type.message.push_back({dtype, shape});
  type.depth = depth;
  const auto kind = carrying_from_name(carrying);
  if (!kind) {
    throw UserError("a channel: no message is carried \"" + carrying +
                    "\"; one of: tagged (send, recv), exchange, reserved (signed_zero=False)");
  }
  type.carrying = *kind;
  const std::string refusal = refusal_of(type);
  if (!refusal.empty()) throw UserError("a channel: " + refusal);
  return type;
}

std::string text_of(const ChannelType& type) {
  return fmt::format("{}, depth {}, {}", type.message_text(), type.depth, name_of(type.carrying));
}

void bind_channel_type(py::module_& module) {
  py::class_<ChannelType>(
      module, "ChannelType",
      "What a channel carries: fields of a message, how many may be unread, and "
      "`tagged`, `exchange` or `reserved`.")
      .def(py::init(&make_channel_type), py::arg("fields"), py::arg("depth"), py::arg("carrying"))
      .def_static(
          "empty", [] { return ChannelType(); }, "What other objects have instead.")
      .def_property_readonly("fields",
                             [](const ChannelType& self) {
                               Fields fields;
                               for (const MessageField& field : self.message) {
                                 fields.emplace_back(field.dtype, field.shape);
                               }
                               return fields;
                             })
      .def_readonly("depth", &ChannelType::depth)
      .def_property_readonly("carrying",
                             [](const ChannelType& self) { return name_of(self.carrying); })
      .def(py::self == py::self)
      .def("__hash__",
           [](const ChannelType& self) { return std::hash<std::string>()(text_of(self)); })
      .def("__str__", &text_of)
      .def("__repr__", [](const ChannelType& self) { return "<" + text_of(self) + ">"; });
}

/// A channel's memory on each rank as if `start` messages had gone through each of its slots, both
/// ways: counts, credits, and what the last messages left in the buffers.
py::bytes channel_image(const ChannelType& type, std::int64_t num_elements, int world_size,
                        std::uint32_t start) {
  const device::ChannelLayout layout = type.layout(num_elements, world_size);
  std::string image(static_cast<std::size_t>(layout.num_bytes()), '\0');
  const auto put = [&image](std::int64_t offset, const auto& value) {
    std::memcpy(image.data() + offset, &value, sizeof(value));
  };
  const device::ChannelCount count = {start, 0};
  for (std::int64_t slot = 0; slot < layout.slots; ++slot) {
    put(layout.received(slot), count);
    for (int peer = 0; layout.carrying == Carrying::kTagged && peer < world_size; ++peer) {
      put(layout.sent(peer, slot), count);
      put(layout.credit(peer, slot), start);
    }
  }
  const bool has_tags = layout.carrying != Carrying::kReserved;
  for (std::int64_t i = layout.buffers(); has_tags && i < layout.num_bytes(); i += 4) put(i, start);
  return image;
}

}  // namespace

void bind_objects(py::module_& module) {
  bind_channel_type(module);
  module.def(
      "semaphore_bytes",
      [](std::uint64_t num_elements) { return device::semaphore_bytes(num_elements); },
      py::arg("num_elements"), "Of one rank's part of an array of semaphores.");
  module.def(
      "flag_bytes",
      [](int world_size, std::uint64_t num_elements) {
        return device::flag_bytes(world_size, num_elements);
      },
      py::arg("world_size"), py::arg("num_elements"));
  module.def(
      "channel_bytes",
      [](const ChannelType& type, std::int64_t num_slots, int world_size, bool network) {
        const device::ChannelLayout layout = type.layout(num_slots, world_size, network);
        // Of both sets of buffers, where there are two.
        const auto slot_bytes =
            static_cast<double>(layout.num_buffers() * layout.buffer_bytes()) * (network ? 2 : 1);
        const double num_bytes =
            static_cast<double>(layout.slots) * slot_bytes + static_cast<double>(layout.buffers());
        return num_bytes < 0x1p62 ? layout.num_bytes() : std::numeric_limits<std::int64_t>::max();
      },
      py::arg("type"), py::arg("num_slots"), py::arg("world_size"), py::arg("network") = false,
      "Of each rank; the largest number there is where that doesn't say it.");
  module.def(
      "channel_signals",
      [](const ChannelType& type, std::int64_t num_slots, int world_size, bool network) {
        return type.layout(num_slots, world_size, network).num_signals();
      },
      py::arg("type"), py::arg("num_slots"), py::arg("world_size"), py::arg("network"),
      "Signals over the network that it has.");
  module.def("channel_image", &channel_image, py::arg("type"), py::arg("num_elements"),
             py::arg("world_size"), py::arg("start"), "Of a channel that was used, for tests.");
  module.def(
      "rotating_bytes",
      [](int world_size, std::uint64_t num_bytes, std::uint64_t num_copies) {
        return device::rotating_bytes(world_size, num_bytes, num_copies);
      },
      py::arg("world_size"), py::arg("num_bytes"), py::arg("num_copies"));
  module.attr("max_rotation") = kMaxRotation;
}

}  // namespace tilewire::bindings
