#include "runtime/cpu/fiber_stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The start of the mapping: stacks grow down from `sp`, the guard page lies at the bottom.
void* mapping_of(const boost::context::stack_context& stack) {
  return static_cast<std::byte*>(stack.sp) - stack.size;
}

}  // namespace

FiberStackPool::~FiberStackPool() {
  for (const auto& stack : free_) munmap(mapping_of(stack), stack.size);
}

boost::context::stack_context FiberStackPool::take() {
  if (!free_.empty()) {
    const auto stack = free_.back();
    free_.pop_back();
    return stack;
  }
  free_.reserve(free_.capacity() + 1);  // so that giving a stack back can't fail
  const std::size_t num_bytes = kStackBytes + page_bytes();
  void* start = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (start == MAP_FAILED || mprotect(start, page_bytes(), PROT_NONE) != 0) {
    const std::string reason = std::strerror(errno);
    if (start != MAP_FAILED) munmap(start, num_bytes);
    throw BackendError("mmap of a fiber's stack (" + std::to_string(num_bytes) +
                       " bytes) failed: " + reason);
  }
  boost::context::stack_context stack;
  stack.size = num_bytes;
  stack.sp = static_cast<std::byte*>(start) + num_bytes;
  return stack;
}

void FiberStackPool::give_back(const boost::context::stack_context& stack) {
  free_.push_back(stack);
}

}  // namespace tilewire
