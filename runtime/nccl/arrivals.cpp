#include "runtime/nccl/arrivals.h"

#include <chrono>
#include <thread>

namespace tilewire {

Arrivals::Arrivals(const Device& device, const Window& window, std::size_t offset, int rank,
                   int world_size)
    : window_(window),
      offset_(offset),
      rank_(rank),
      world_size_(world_size),
      stream_(device),
      staging_(device, num_bytes(world_size + 1)) {}

void Arrivals::tell(cuda::Stream stream) noexcept {
  auto* count = static_cast<std::uint32_t*>(staging_.host());
  *count += 1;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (!window_.is_reachable(rank)) continue;
    const cuda::DevicePointer word = window_.address(rank) + offset_ + kWordBytes * rank_;
    cuda::api().copy_to_device(word, count, kWordBytes, stream);
  }
}

std::vector<int> Arrivals::missing() noexcept {
  auto* counts = static_cast<std::uint32_t*>(staging_.host());
  const cuda::Api& api = cuda::api();
  if (api.copy_to_host(counts + 1, window_.address(rank_) + offset_, num_bytes(world_size_),
                       stream_.get()) != cuda::kSuccess) {
    return {};
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  cuda::Result state = cuda::kErrorNotReady;
  while (state == cuda::kErrorNotReady && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    state = api.stream_query(stream_.get());
  }
  std::vector<int> ranks;
  for (int rank = 0; state == cuda::kSuccess && rank < world_size_; ++rank) {
    const auto behind = static_cast<std::int32_t>(counts[0] - counts[1 + rank]);
    if (window_.is_reachable(rank) && behind > 0) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace tilewire
