#include "runtime/nccl/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/nccl/agreement.h"
#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/nccl_window.h"
#include "runtime/nccl/virtual_window.h"

namespace tilewire {
namespace {

constexpr std::size_t kWindowGranularity = 4096;

LaneShape lane_shape(const Device& device, int lsa_size) {
  return LaneShape::of(device.num_sms(), device.max_ctas_per_sm(), lsa_size);
}

/// Fits `text` into a field of facts, cut off where it is too long.
template <std::size_t kSize>
void copy_text(char (&to)[kSize], std::string_view text) {
  std::memset(to, 0, kSize);
  std::memcpy(to, text.data(), std::min(text.size(), kSize - 1));
}

Target target_of(const Device& device, int world_size, int lsa_size) {
  Target target;
  target.backend = Target::Backend::kCuda;
  target.architecture = device.architecture();
  target.compute_capability = device.compute_capability();
  target.world_size = world_size;
  target.lsa_size = lsa_size;
  target.multimem = false;
  target.gin = lsa_size < world_size;
  return target;
}

}  // namespace

std::string Communicator::new_unique_id() {
  nccl::UniqueId id;
  nccl::check(nccl::api().get_unique_id(&id), "ncclGetUniqueId");
  return {id.internal, sizeof(id.internal)};
}

std::shared_ptr<Communicator> Communicator::create(const std::string& unique_id, int rank,
                                                   int world_size, int device_ordinal) {
  if (world_size < 1 || rank < 0 || rank >= world_size) {
    throw UserError(
        fmt::format("rank {} of a world of {}: ranks count from 0 and end below the "
                    "world size",
                    rank, world_size));
  }
  nccl::UniqueId id;
  if (unique_id.size() != sizeof(id.internal)) {
    throw UserError(fmt::format("NCCL's unique id has {} bytes, found {}", sizeof(id.internal),
                                unique_id.size()));
  }
  std::memcpy(id.internal, unique_id.data(), sizeof(id.internal));
  const Device& device = Device::get(device_ordinal);
  const ContextGuard guard(device);
  nccl::Comm comm = nullptr;
  nccl::check(nccl::api().comm_init_rank(&comm, world_size, id, rank), "ncclCommInitRank");
  return make(comm, true, device);
}

std::shared_ptr<Communicator> Communicator::adopt(void* nccl_comm) {
  if (nccl_comm == nullptr) throw UserError("the NCCL communicator to stand on is null");
  const auto comm = static_cast<nccl::Comm>(nccl_comm);
  int ordinal = 0;
  nccl::check(nccl::api().comm_device(comm, &ordinal), "ncclCommCuDevice", comm);
  const Device& device = Device::get(ordinal);
  const ContextGuard guard(device);
  return make(comm, false, device);
}

std::shared_ptr<Communicator> Communicator::make(nccl::Comm comm, bool owned,
                                                 const Device& device) {
  const nccl::Api& nccl = nccl::api();
  int world_size = 0;
  int rank = 0;
  nccl::check(nccl.comm_count(comm, &world_size), "ncclCommCount", comm);
  nccl::check(nccl.comm_rank(comm, &rank), "ncclCommUserRank", comm);
  const nccl::Team lsa = nccl.team_lsa(comm);
  if (lsa.num_ranks < 1 || lsa.stride != 1 || world_size % lsa.num_ranks != 0) {
    throw BackendError(fmt::format(
        "NCCL {} ({}): ncclTeamLsa gave a team of {} ranks at stride {} in a world of {}",
        nccl.version.to_string(), nccl.path, lsa.num_ranks, lsa.stride, world_size));
  }
  std::shared_ptr<Communicator> communicator(
      new Communicator(device, comm, owned, rank, target_of(device, world_size, lsa.num_ranks)));
  communicator->agree_on_facts();
  communicator->make_device_comm();
  communicator->make_first_lane();
  return communicator;
}

Communicator::Communicator(const Device& device, nccl::Comm comm, bool owned, int rank,
                           Target target)
    : GpuWorld(device, rank, std::move(target), device_layout().device_comm_bytes),
      comm_(comm),
      owned_(owned),
      exchange_(std::make_unique<HostExchange>(device, comm, world_size())) {}

void Communicator::agree_on_facts() {
  RankFacts facts;
  std::memset(&facts, 0, sizeof(facts));
  copy_text(facts.device_name, device_.name());
  copy_text(facts.tilewire_version, TILEWIRE_VERSION);
  facts.nccl_version = nccl::api().version.to_code();
  facts.compute_capability = device_.compute_capability();
  facts.num_sms = device_.num_sms();
  facts.max_ctas_per_sm = device_.max_ctas_per_sm();
  facts.lsa_size = lsa_size();
  require_alike(exchange_->all_gather(facts, "tw.init"));
}

DeviceNeeds Communicator::device_needs() const {
  DeviceNeeds needs;
  if (target_.gin) {
    needs.gin_contexts = Environment::get().gin_contexts;
    needs.gin_signals = Environment::get().gin_signals;
  }
  return needs;
}

void Communicator::make_device_comm() {
  const DeviceNeeds needs = device_needs();
  const std::string requirements = requirement_bytes(device_layout(), needs);
  std::vector<std::byte> bytes(device_comm_bytes());
  const nccl::Result result = nccl::api().dev_comm_create(comm_, requirements.data(), bytes.data());
  if (result != nccl::kSuccess && world_size() == 1) {
    device_comm_ = tilewire::make_device_comm(device_layout(), 0, 1);  // see `allocate`
    return;
  }
  nccl::check(result, "ncclDevCommCreate", comm_);
  device_comm_ = std::move(bytes);
  has_nccl_device_comm_ = true;
  if (target_.gin) agree_on_network(needs);
}

void Communicator::agree_on_network(const DeviceNeeds& needs) {
  // NCCL takes the number of contexts for a hint.
  const int given = gin_contexts_of(device_layout(), device_comm_);
  num_gin_contexts_ = agree_minimum("the GIN contexts of a communicator", needs.gin_signals, given);
  num_gin_signals_ = needs.gin_signals;
  if (num_gin_contexts_ > 0) return;
  throw BackendError(fmt::format(
      "NCCL {} ({}): ncclDevCommCreate gave rank {} no GIN context: no network card that its GIN "
      "can use. NCCL_DEBUG=INFO makes NCCL say why",
      nccl::api().version.to_string(), nccl::api().path, rank_));
}

void Communicator::make_first_lane() {
  lanes_.push_back(allocate_lane(0, {}));
  if (world_size() == 1) return;
  const LaneGroup& lane = *lanes_[0];
  exchange_->count_arrivals(std::make_unique<Arrivals>(
      device_, *lane.window, lane_shape(device_, lsa_size()).num_bytes, rank_, world_size()));
}

std::unique_ptr<LaneGroup> Communicator::allocate_lane(int number, const LaneOptions& options) {
  const LaneShape shape = lane_shape(device_, lsa_size());
  // Lane 0's has room for the host's collective calls as well.
  const std::size_t num_bytes =
      shape.num_bytes + (number == 0 ? Arrivals::num_bytes(world_size()) : 0);
  auto group = std::make_unique<LaneGroup>();
  group->number = number;
  group->options = options;
  group->window = allocate(num_bytes);
  const device::WindowHandle handle = group->window->handle();
  check_cuda(cuda::api().fill_bytes(reinterpret_cast<cuda::DevicePointer>(handle.local), 0,
                                    num_bytes, exchange_->stream()),
             "cuMemsetD8Async");
  check_cuda(cuda::api().stream_synchronize(exchange_->stream()), "cuStreamSynchronize");
  group->of_rank.push_back(
      std::make_unique<Lane>(device_, Lane::Setup{.number = number,
                                                  .rank = rank_,
                                                  .window = handle,
                                                  .place = group->window->place(),
                                                  .shape = shape,
                                                  .device_comm = device_comm_,
                                                  .exclusive = options.exclusive}));
  // Nobody signals before everybody's inboxes are clear.
  exchange_->all_gather(RankValue{}, "the creation of a lane");
  return group;
}

std::unique_ptr<Window> Communicator::allocate(std::size_t num_bytes) {
  const std::size_t rounded =
      (num_bytes + kWindowGranularity - 1) / kWindowGranularity * kWindowGranularity;
  std::unique_ptr<NcclMemory> memory;
  std::string problem;
  try {
    memory = std::make_unique<NcclMemory>(device_, rounded);
  } catch (const BackendError& error) {
    problem = error.message();
  }
  // One rank without memory must not leave the others waiting in the registration.
  const int all_have_it = agree_minimum("making a window", 0, memory == nullptr ? 0 : 1);
  if (!problem.empty()) throw BackendError(problem);
  if (all_have_it == 0) {
    throw BackendError(
        fmt::format("a window of {} bytes: another rank's GPU has no room for it", num_bytes));
  }
  std::unique_ptr<Window> window =
      NcclWindow::make(device_, comm_, rank_, std::move(*memory), rounded, exchange_->stream());
  if (window != nullptr) return window;
  // NCCL needn't serve a world of one: its memory is nobody else's.
  if (world_size() == 1) return VirtualWindow::make(device_, rounded, 1);
  throw BackendError(fmt::format(
      "NCCL {} ({}): ncclCommWindowRegister gave no window: symmetric memory needs CUDA's "
      "peer-to-peer access between the GPUs, and NCCL_CUMEM_ENABLE and NCCL_WIN_ENABLE not set to "
      "0. `tilewire doctor` shows the links",
      nccl::api().version.to_string(), nccl::api().path));
}

std::vector<GpuWorld::Allocation> Communicator::exchange(std::string_view call,
                                                         const Allocation& own) {
  return exchange_->all_gather(own, call);
}

void Communicator::agree(std::string_view what, std::uint64_t value) {
  const RankValue own{.agreement = std::hash<std::string_view>()(what),
                      .value = static_cast<std::int64_t>(value)};
  require_equal(what, exchange_->all_gather(own, what));
}

int Communicator::agree_minimum(std::string_view what, std::uint64_t agreement, int value) {
  require_open(what);
  const RankValue own{.agreement = agreement, .value = value};
  return static_cast<int>(minimum_of(what, exchange_->all_gather(own, what)));
}

void Communicator::launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
                          const ArgumentValue* values, LaneGroup* lane) {
  if (closed_) [[unlikely]]
    require_open("launch");
  if (lane != nullptr) {
    lane->of_rank[0]->launch(kernel, grid, stream, values);
  } else {
    kernel.launch(grid, stream, values,
                  {.device_comm = device_comm_.data(), .lsa_rank = rank_ % lsa_size()});
  }
}

void Communicator::barrier() {
  require_open("comm.barrier");
  synchronize();
  exchange_->all_gather(RankValue{}, "comm.barrier");
}

bool Communicator::has_hung() const {
  return exchange_->is_broken() ||
         std::ranges::any_of(lanes_, [](const auto& lane) { return lane->has_hung(); });
}

void Communicator::close() {
  if (closed_) return;
  if (has_hung()) {
    abandon();
    return;
  }
  const bool aborted =
      std::ranges::any_of(lanes_, [](const auto& lane) { return lane->is_stopped(); });
  try {
    if (aborted) {
      device_.synchronize();  // the waiting kernels leave
    } else {
      barrier();  // no rank's kernel still reads a peer's memory
    }
  } catch (...) {
    abandon();
    throw;
  }
  closed_ = true;
  const ContextGuard guard(device_);
  release_memory();
  if (has_nccl_device_comm_) nccl::api().dev_comm_destroy(comm_, device_comm_.data());
  exchange_.reset();
  if (!owned_) return;
  if (aborted) {
    nccl::api().comm_abort(comm_);  // the others may be gone
  } else {
    nccl::api().comm_destroy(comm_);
  }
}

void Communicator::abandon() noexcept {
  closed_ = true;
  abandon_memory();
  static_cast<void>(exchange_.release());
}

Communicator::~Communicator() {
  if (!closed_) abandon();
}

}  // namespace tilewire
