#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/driver/memory.h"
#include "runtime/nccl/arrivals.h"
#include "runtime/nccl/nccl.h"

namespace tilewire {

/// What ranks tell each other from the host: small records, all-gathered on a stream of its own.
/// Every call is collective and ends within TILEWIRE_TIMEOUT.
class HostExchange {
 public:
  /// Of one record, in bytes.
  static constexpr std::size_t kMaxRecord = 256;
  /// Of a call's name, in bytes; longer ones are cut.
  static constexpr std::size_t kMaxCall = 256;

  HostExchange(const Device& device, nccl::Comm comm, int world_size);
  ~HostExchange();
  HostExchange(const HostExchange&) = delete;
  HostExchange& operator=(const HostExchange&) = delete;

  /// From now on a HangError says which ranks didn't come, where it can be known. Collective.
  void count_arrivals(std::unique_ptr<Arrivals> arrivals) { arrivals_ = std::move(arrivals); }

  /// Everybody's record, in rank order. `what` is the call that the user made, with its arguments.
  /// HangError where a rank doesn't come, with `what` in it; UserError on all ranks, naming two of
  /// them and both calls, where ranks meet at different ones.
  template <typename Record>
  std::vector<Record> all_gather(const Record& own, std::string_view what) {
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) <= kMaxRecord);
    std::memcpy(record_of(-1), &own, sizeof(Record));
    gather(what);
    std::vector<Record> all(world_size_);
    for (int rank = 0; rank < world_size_; ++rank) {
      std::memcpy(&all[rank], record_of(rank), sizeof(Record));
    }
    return all;
  }

  /// Whether a rank didn't come: NCCL's work is stuck, and the communicator with it.
  bool is_broken() const { return broken_; }
  cuda::Stream stream() const { return stream_.get(); }

 private:
  static constexpr std::size_t kMessage = kMaxCall + kMaxRecord;  ///< the call, then the record

  /// Of a rank as gathered; -1: one's own, as sent.
  char* call_of(int rank) const {
    return static_cast<char*>(staging_.host()) + (rank + 1) * kMessage;
  }
  char* record_of(int rank) const { return call_of(rank) + kMaxCall; }
  void require_one_call() const;
  void gather(std::string_view what);
  void wait(std::string_view what);
  [[noreturn]] void raise_missing(std::string_view what);

  const Device& device_;
  nccl::Comm comm_;
  int world_size_;
  OwnedStream stream_;
  MappedMemory staging_;  ///< one's own message, then everybody's
  std::unique_ptr<DeviceMemory> buffer_;
  std::unique_ptr<Arrivals> arrivals_;
  bool broken_ = false;
};

}  // namespace tilewire
