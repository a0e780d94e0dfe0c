#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/nccl/agreement.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/fixed_text.h"
#include "runtime/nccl/probe_rank.h"
#include "runtime/nccl/requirements.h"

// How a communicator comes about: what must be alike, what the ranks have together, NCCL's device
// communicator.

namespace tilewire {

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
  communicator->find_capabilities(RankPlace{
      .rank = rank, .world_size = world_size, .lsa_rank = lsa.rank, .lsa_size = lsa.num_ranks});
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
  facts.gin_contexts = Environment::get().gin_contexts;
  facts.gin_signals = Environment::get().gin_signals;
  require_alike(exchange_->all_gather(facts, "tw.init"));
}

void Communicator::find_capabilities(const RankPlace& place) {
  RankCapabilities own = probe_rank(device_, comm_, place);
  const auto alone = exchange_->all_gather(own, "tw.init (what each rank has)");
  own[Feature::kAtomics] = probe_atomics(device_, rank_, alone);
  follow_others(own, alone);
  while (!make_device_comm(own)) {
  }
  own.num_gin_contexts = gin_contexts_of(device_layout(), device_comm_);
  check_given(own, multicast_address_of(device_layout(), device_comm_));
  capabilities_ = Capabilities(exchange_->all_gather(own, "tw.init (what NCCL gave)"));
  target_.multimem = capabilities_.has(Feature::kMultimem);
  target_.gin = capabilities_.has(Feature::kNetwork);
  num_gin_contexts_ = capabilities_.num_gin_contexts();
  num_gin_signals_ = target_.gin ? Environment::get().gin_signals : 0;
  signals_ = SignalPool(static_cast<std::uint64_t>(num_gin_signals_));
  const std::string notice = capabilities_.notice();
  if (rank_ == 0 && !notice.empty()) std::fprintf(stderr, "tilewire: %s\n", notice.c_str());
}

bool Communicator::make_device_comm(RankCapabilities& own) {
  DeviceNeeds needs{.multimem = own[Feature::kMultimem].has()};
  if (own[Feature::kNetwork].has()) {
    needs.gin_contexts = Environment::get().gin_contexts;
    needs.gin_signals = Environment::get().gin_signals;
  }
  const std::string requirements = requirement_bytes(device_layout(), needs);
  device_comm_.assign(device_comm_bytes(), std::byte{0});
  const nccl::Result result = nccl::settled(
      nccl::api().dev_comm_create(comm_, requirements.data(), device_comm_.data()), comm_);
  has_nccl_device_comm_ = result == nccl::kSuccess;
  if (world_size() == 1) {
    // NCCL needn't serve a world of one; see `allocate`.
    if (!has_nccl_device_comm_) device_comm_ = tilewire::make_device_comm(device_layout(), 0, 1);
    return true;
  }
  const auto results = exchange_->all_gather(result, "tw.init (ncclDevCommCreate)");
  if (std::ranges::count(results, nccl::kSuccess) == world_size()) return true;
  if (has_nccl_device_comm_) nccl::api().dev_comm_destroy(comm_, device_comm_.data());
  has_nccl_device_comm_ = false;
  if (give_up_one(own, rank_, results)) return false;
  nccl::check(result, "ncclDevCommCreate", comm_);
  throw BackendError(fmt::format("NCCL {} ({}): ncclDevCommCreate failed on another rank",
                                 nccl::api().version.to_string(), nccl::api().path));
}

}  // namespace tilewire
