#include "runtime/nccl/host_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/driver/watchdog.h"
#include "runtime/nccl/agreement.h"

namespace tilewire {

HostExchange::HostExchange(const Device& device, nccl::Comm comm, int world_size)
    : device_(device),
      comm_(comm),
      world_size_(world_size),
      stream_(device),
      staging_(device, (world_size + 1) * kMessage),
      buffer_(std::make_unique<DeviceMemory>(device, (world_size + 1) * kMessage)) {}

HostExchange::~HostExchange() {
  // Frees wait for the stream; NCCL's stuck work would never end.
  if (broken_) static_cast<void>(buffer_.release());
}

void HostExchange::gather(std::string_view what) {
  if (broken_) {
    throw HangError(fmt::format(
        "{}: an earlier collective call of this communicator failed or never ended: only a new "
        "process can go on",
        what));
  }
  const ContextGuard guard(device_);
  const OutsideCapture outside;
  const cuda::Api& api = cuda::api();
  const cuda::DevicePointer own = buffer_->address();
  const cuda::DevicePointer all = own + kMessage;
  std::memset(call_of(-1), 0, kMaxCall);
  std::memcpy(call_of(-1), what.data(), std::min(what.size(), kMaxCall - 1));
  if (arrivals_ != nullptr) arrivals_->tell(stream_.get());
  check_cuda(api.copy_to_device(own, call_of(-1), kMessage, stream_.get()), "cuMemcpyHtoDAsync");
  nccl::check(
      nccl::api().all_gather(reinterpret_cast<const void*>(own), reinterpret_cast<void*>(all),
                             kMessage, nccl::kUint8, comm_, stream_.get()),
      "ncclAllGather", comm_);
  check_cuda(api.copy_to_host(call_of(0), all, world_size_ * kMessage, stream_.get()),
             "cuMemcpyDtoHAsync");
  wait(what);
  require_one_call();
}

void HostExchange::require_one_call() const {
  for (int rank = 1; rank < world_size_; ++rank) require_same_call(call_of(0), rank, call_of(rank));
}

void HostExchange::wait(std::string_view what) {
  using Clock = std::chrono::steady_clock;
  const double timeout_s = Environment::get().timeout_s;
  const auto start = Clock::now();
  while (true) {
    const cuda::Result state = cuda::api().stream_query(stream_.get());
    if (state == cuda::kSuccess) return;
    const std::chrono::duration<double> waited = Clock::now() - start;
    nccl::Result asynchronous = nccl::kSuccess;
    nccl::api().comm_async_error(comm_, &asynchronous);
    broken_ = state != cuda::kErrorNotReady || waited.count() > timeout_s ||
              (asynchronous != nccl::kSuccess && asynchronous != nccl::kInProgress);
    if (!broken_) {
      // Short at first: a healthy exchange takes some tens of microseconds.
      if (waited.count() > 0.001) std::this_thread::sleep_for(std::chrono::microseconds(200));
      continue;
    }
    device_.leave_to_exit();  // NCCL's kernel may wait for ever
    if (state != cuda::kErrorNotReady) check_cuda(state, "cuStreamQuery");
    if (waited.count() <= timeout_s) nccl::check(asynchronous, "ncclAllGather", comm_);
    Watchdog::get().raise_if_hung();
    raise_missing(what);
  }
}

void HostExchange::raise_missing(std::string_view what) {
  std::vector<int> ranks;
  if (arrivals_ != nullptr) ranks = arrivals_->missing();
  const std::string who = ranks.empty() ? "not all ranks came"
                          : ranks.size() == 1
                              ? fmt::format("rank {} never came", ranks[0])
                              : fmt::format("ranks {} never came", fmt::join(ranks, ", "));
  throw HangError(fmt::format(
      "{}: {} within {:g} s (TILEWIRE_TIMEOUT). It is collective: every rank must make this call, "
      "in the same order",
      what, who, Environment::get().timeout_s));
}

}  // namespace tilewire
