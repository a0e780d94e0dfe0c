#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <vector>

namespace tilewire {

/// Stacks for fibers: mapped memory with an inaccessible page below, so that an overflow is a fault
/// and never a silent overwrite. Stacks are kept for reuse until the pool goes.
class FiberStackPool {
 public:
  /// Tiles live in the arena, so that a stack holds only what the register allocator spills and
  /// what runtime functions need. Pages that are never touched cost no memory.
  static constexpr std::size_t kStackBytes = 256 * 1024;

  FiberStackPool() = default;
  ~FiberStackPool();
  FiberStackPool(const FiberStackPool&) = delete;
  FiberStackPool& operator=(const FiberStackPool&) = delete;

  /// BackendError where the system has no more memory to map.
  boost::context::stack_context take();
  void give_back(const boost::context::stack_context& stack);

 private:
  std::vector<boost::context::stack_context> free_;
};

/// What Boost.Context asks of a stack allocator, over a pool. Boost's own allocators aren't used:
/// their library isn't position-independent and would give the module static TLS.
class PooledStack {
 public:
  explicit PooledStack(FiberStackPool& pool) : pool_(&pool) {}
  boost::context::stack_context allocate() { return pool_->take(); }
  void deallocate(boost::context::stack_context& stack) { pool_->give_back(stack); }

 private:
  FiberStackPool* pool_;
};

}  // namespace tilewire
