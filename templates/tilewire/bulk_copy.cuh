// The bulk copy engine (sm_90 and newer), as one thread uses it: asynchronous copies between global
// and shared memory, in the async proxy.
//
// The host has none: tests/unit/bulk_emulator.h stands in where templates are tested there.
#pragma once

#include "tilewire/base.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
TILEWIRE_DEVICE uint32_t shared_address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}
TILEWIRE_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
/// Waits until shared memory of all but the `kNewest` last bulk stores has been read.
template <int kNewest>
TILEWIRE_DEVICE void wait_bulk_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kNewest) : "memory");
}
/// Waits until this thread's bulk stores are done.
TILEWIRE_DEVICE void wait_bulk_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/// Before the first load that `full` counts, and behind the last.
TILEWIRE_DEVICE void begin_bulk_loads(uint64_t* full) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full)) : "memory");
}
TILEWIRE_DEVICE void end_bulk_loads(uint64_t* full) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(full)) : "memory");
}
/// Global memory to shared memory: whole 16-byte words, aligned. The barrier `full` knows of them.
TILEWIRE_DEVICE void start_bulk_load(void* to, const void* from, int num_bytes, uint32_t full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(num_bytes), "r"(full)
      : "memory");
}
/// The same, and tells `full` of them.
TILEWIRE_DEVICE void bulk_load(void* to, const void* from, int num_bytes, uint64_t* full) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full)),
               "r"(num_bytes)
               : "memory");
  start_bulk_load(to, from, num_bytes, shared_address(full));
}
/// Shared memory to global memory, as a group of its own.
TILEWIRE_DEVICE void bulk_store(void* to, const void* from, int num_bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(num_bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// `parity`: of the number of loads that `full` has counted before.
TILEWIRE_DEVICE void wait_bulk_load(uint64_t* full, uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "again:\n\t"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t"
      "}" ::"r"(shared_address(full)),
      "r"(parity)
      : "memory");
}
#else  // nothing that is called
TILEWIRE_DEVICE void fence_proxy_async() {}
template <int kNewest>
TILEWIRE_DEVICE void wait_bulk_read() {}
TILEWIRE_DEVICE void wait_bulk_stores() {}
TILEWIRE_DEVICE void begin_bulk_loads(uint64_t*) {}
TILEWIRE_DEVICE void end_bulk_loads(uint64_t*) {}
TILEWIRE_DEVICE void bulk_load(void*, const void*, int, uint64_t*) {}
TILEWIRE_DEVICE void bulk_store(void*, const void*, int) {}
TILEWIRE_DEVICE void wait_bulk_load(uint64_t*, uint32_t) {}
#endif

}  // namespace tilewire::device
#endif
