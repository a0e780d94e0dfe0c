#include "runtime/cpu/channel_operation.h"

#include <fmt/format.h>

#include "compiler/support/error.h"

namespace tilewire {

using device::Carrying;

ChannelOperation::ChannelOperation(CpuInstance& instance, std::span<const CpuTile> operands,
                                   std::span<const CpuTile> message, const std::int64_t* constants)
    : instance_(instance),
      scheduler_(Scheduler::of(instance)),
      bases_(static_cast<std::byte* const*>(operands[0].data)),
      slot_(integer(operands[1])),
      site_(static_cast<std::uint32_t>(constants[3])),
      message_(static_cast<device::Carrying>(constants[0]), message),
      layout_{static_cast<device::Carrying>(constants[0]),
              world(),
              constants[1],
              static_cast<int>(constants[2]),
              message_.num_bytes(),
              constants[7] != 0} {
  const bool is_predicated = constants[4] != 0;
  const CpuTile& last = operands.back();
  if (is_predicated && !*static_cast<const bool*>(last.data)) {
    fail("this slot is outside of the channel");
  }
}

void ChannelOperation::write(std::byte* to, std::span<const CpuTile> values,
                             std::uint32_t sequence) const {
  for (std::size_t field = 0; field < values.size(); ++field) {
    for (const int half : {0, 1}) {
      scheduler_.pass_access(instance_);
      message_.write_half(to, field, half, values[field], sequence);
    }
  }
}

std::vector<std::byte> ChannelOperation::image(std::span<const CpuTile> values,
                                               std::uint32_t sequence) const {
  std::vector<std::byte> image(static_cast<std::size_t>(layout_.message_bytes));
  for (std::size_t field = 0; field < values.size(); ++field) {
    for (const int half : {0, 1}) {
      message_.write_half(image.data(), field, half, values[field], sequence);
    }
  }
  if (layout_.carrying == Carrying::kTagged) {
    CpuMessage::write_sender(image.data(), static_cast<std::uint32_t>(rank()), sequence);
  }
  return image;
}

void ChannelOperation::put(std::int64_t peer, std::byte* to, const std::vector<std::byte>& image,
                           Network::Place place) const {
  scheduler_.pass_access(instance_);
  network().send(route(peer), {{to, image.data(), image.size()}});
  network().signal(route(peer), place, 1);
}

void ChannelOperation::signal(std::int64_t peer, Network::Place place) const {
  scheduler_.pass_access(instance_);
  network().signal(route(peer), place, 1);
}

void ChannelOperation::fail(const std::string& message) const {
  const auto& launch = scheduler_.ranks()[static_cast<std::size_t>(instance_.rank)];
  const WaitSite& site = launch.kernel->artifact().wait_sites.at(site_);
  throw UserError(fmt::format("{}: rank {}, program {}: {}", site.what, rank(),
                              instance_.linear_program_id(), message),
                  site.location);
}

}  // namespace tilewire
