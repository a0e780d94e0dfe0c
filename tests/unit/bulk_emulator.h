#pragma once

// The bulk copy engine of one thread, as lazy as it may be: a load happens when it is waited for, a
// store when it must have read shared memory, and is visible when it must be. A copy that reuses
// shared memory too early, or doesn't wait for what it needs, gives wrong bytes. Include it before
// `templates/tilewire/bulk_copy.cuh`.

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

namespace tilewire::device {

struct BulkEngine {
  struct Load {
    char* to;
    const char* from;
    int num_bytes;
  };
  struct Store {
    char* to;
    const char* from;  ///< shared memory; null: it has been read
    std::vector<char> bytes;
    int num_bytes;
  };
  struct Barrier {
    std::deque<Load> loads;
    uint32_t num_done = 0;
  };
  std::map<uint64_t*, Barrier> barriers;
  std::deque<Store> stores;  ///< oldest first
  int num_bulk = 0;
  int num_errors = 0;

  void expect(bool holds) { num_errors += holds ? 0 : 1; }
  void read_all_but(std::size_t newest) {
    for (std::size_t i = 0; i + newest < stores.size(); ++i) {
      Store& store = stores[i];
      if (store.from == nullptr) continue;
      store.bytes.assign(store.from, store.from + store.num_bytes);
      store.from = nullptr;
    }
  }
};
/// Of the thread that copies: the first one.
inline BulkEngine bulk_engine;

inline void fence_proxy_async() {}
template <int kNewest>
void wait_bulk_read() {
  if (threadIdx.x == 0) bulk_engine.read_all_but(kNewest);
}
inline void wait_bulk_stores() {
  if (threadIdx.x != 0) return;
  bulk_engine.read_all_but(0);
  for (const BulkEngine::Store& store : bulk_engine.stores) {
    std::memcpy(store.to, store.bytes.data(), store.bytes.size());
  }
  bulk_engine.stores.clear();
}
inline void begin_bulk_loads(uint64_t* full) {
  bulk_engine.expect(!bulk_engine.barriers.contains(full));
  bulk_engine.barriers[full] = {};
}
inline void end_bulk_loads(uint64_t* full) {
  bulk_engine.expect(bulk_engine.barriers.at(full).loads.empty());
  bulk_engine.barriers.erase(full);
}
inline void bulk_load(void* to, const void* from, int num_bytes, uint64_t* full) {
  BulkEngine::Barrier& barrier = bulk_engine.barriers.at(full);
  bulk_engine.expect(barrier.loads.empty() && num_bytes > 0 && num_bytes % 16 == 0);
  bulk_engine.expect(reinterpret_cast<uint64_t>(to) % 16 == 0);
  bulk_engine.expect(reinterpret_cast<uint64_t>(from) % 16 == 0);
  // What is there from now on is nothing that a store may still read.
  std::memset(to, 0xee, static_cast<std::size_t>(num_bytes));
  barrier.loads.push_back({static_cast<char*>(to), static_cast<const char*>(from), num_bytes});
}
inline void wait_bulk_load(uint64_t* full, uint32_t parity) {
  BulkEngine::Barrier& barrier = bulk_engine.barriers.at(full);
  bulk_engine.expect(barrier.loads.size() == 1 && barrier.num_done % 2 == parity);
  const BulkEngine::Load& load = barrier.loads.front();
  std::memcpy(load.to, load.from, static_cast<std::size_t>(load.num_bytes));
  barrier.loads.pop_front();
  ++barrier.num_done;
}
inline void bulk_store(void* to, const void* from, int num_bytes) {
  bulk_engine.expect(reinterpret_cast<uint64_t>(to) % 16 == 0 && num_bytes % 16 == 0);
  bulk_engine.stores.push_back(
      {static_cast<char*>(to), static_cast<const char*>(from), {}, num_bytes});
  ++bulk_engine.num_bulk;
}

}  // namespace tilewire::device
