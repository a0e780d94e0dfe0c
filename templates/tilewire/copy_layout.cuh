// Shared memory of bulk copies, for the host and the device alike.
#pragma once

namespace tilewire::device {

/// Bytes that go through shared memory at a time. A copy engine of one CTA has all stages in
/// flight: a link's latency of about 3 us from load to store times the 45 GB/s that 8 CTAs must
/// each move.
inline constexpr int kCopyStageBytes = 16 * 1024;
/// Stages whose store may still be reading while the others load.
inline constexpr int kCopyStores = 3;

/// The same of a task's copies (task.cuh), of which each instance has some: what 132 of them have
/// in flight, 12 KiB each, is what a link takes, and a ring beside it keeps its slots.
inline constexpr int kTaskStageBytes = 4 * 1024;
inline constexpr int kTaskStores = 1;
inline constexpr int kTaskStages = 4;

/// A copy engine of fewer has too little in flight.
inline constexpr int kFewestCopyStages = 5;

/// How many stages fit beside a kernel's own shared memory; 0: no bulk copies.
constexpr int num_copy_stages(int compute_capability) {
  if (compute_capability < 90) return 0;
  return compute_capability >= 120 ? kFewestCopyStages : 8;  // of 99 KB and 227 KB
}

constexpr int task_copy_shared_bytes() { return kTaskStages * (kTaskStageBytes + 8); }
/// All stages, then an mbarrier of each.
constexpr int copy_shared_bytes_of(int num_stages) { return num_stages * (kCopyStageBytes + 8); }
constexpr int copy_shared_bytes(int compute_capability) {
  return copy_shared_bytes_of(num_copy_stages(compute_capability));
}

}  // namespace tilewire::device
