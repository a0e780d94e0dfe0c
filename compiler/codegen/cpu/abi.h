#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewire {

/// One program instance on the CPU, as its machine code sees it. The code generator reads the
/// fields by their offsets; `runtime/cpu` fills them.
struct CpuInstance {
  std::int64_t rank = 0;
  std::int64_t program_id[3] = {0, 0, 0};
  std::int64_t num_programs[3] = {1, 1, 1};
  std::byte* arena = nullptr;  ///< `Artifact::arena_bytes`, 64-byte aligned: the tiles
  void* scheduler = nullptr;   ///< `Scheduler`; null where the program never waits
  /// Of this rank's launch: `LaunchRules::num_counters`, then the words of its places.
  std::int64_t* counters = nullptr;
  void* control = nullptr;  ///< `LaunchControl`; null: the launch can't be interrupted
  // Of `cpu_check_in` alone:
  std::int64_t checked_in_at = 0;  ///< when, in microseconds
  std::int64_t rounds = 1;         ///< from one call to the next
  /// Accesses until others may run: code of programs that wait counts down before each, and calls
  /// `tilewire_interrupt` at 0.
  std::int64_t accesses_left = 0;
  std::int64_t in_task = 0;  ///< 1: runs the program's task, beside the rest of the instance

  std::int64_t linear_program_id() const {
    return program_id[0] + num_programs[0] * (program_id[1] + num_programs[1] * program_id[2]);
  }
};

static_assert(offsetof(CpuInstance, rank) == 0);
static_assert(offsetof(CpuInstance, program_id) == 8);
static_assert(offsetof(CpuInstance, num_programs) == 32);
static_assert(offsetof(CpuInstance, arena) == 56);
static_assert(offsetof(CpuInstance, counters) == 72);

/// A tile as a reference function sees it: row-major, elements as they lie in memory (a bool is a
/// byte, 0 or 1). A scalar has rank 0 and one element; of a pointer, `data` is the address itself.
struct CpuTile {
  void* data = nullptr;
  std::int64_t dtype = 0;  ///< a `DType`
  std::int64_t rank = 0;
  std::int64_t shape[3] = {1, 1, 1};

  std::int64_t num_elements() const { return shape[0] * shape[1] * shape[2]; }
};

static_assert(offsetof(CpuTile, data) == 0 && sizeof(void*) == 8);
static_assert(offsetof(CpuTile, dtype) == 8 && offsetof(CpuTile, rank) == 16);
static_assert(offsetof(CpuTile, shape) == 24 && sizeof(CpuTile) == 48);

/// What `tilewire_multimem_load` reduces copies by.
enum class CpuReduction : std::int64_t { kAdd, kMin, kMax, kAnd, kOr, kXor };

/// An op's reference function (`CpuEmitter::call_reference`). `tiles`: the statement's results,
/// which it fills, then its operands, which it leaves as they are. `constants`: what the op adds.
/// It may wait, and throw.
using CpuReference = void (*)(CpuInstance* instance, const CpuTile* tiles,
                              const std::int64_t* constants);

/// The symbol `Artifact::entry` of a CPU kernel's object. `arguments` has one 64-bit slot per
/// element of `Artifact::arguments`:
/// - kTensor: the address of element 0
/// - kWindow: the address of an array of `world_size` addresses, of element 0 of each rank's copy
/// - kScalar: the value's bits in the low bytes, as it lies in memory
/// - kExtent, kStride: an int64; strides in elements
/// - kDeviceComm, kLane, kCounters, kTensorMap: unused, 0
///
/// The code calls the functions of `runtime/cpu/symbols.h` by name. In its loops it counts rounds,
/// and calls `tilewire_check_in` after the first one and then when as many are done as that said.
/// What they throw passes through it; it owns nothing that would have to be released.
using CpuEntry = void (*)(CpuInstance* instance, const std::uint64_t* arguments);

}  // namespace tilewire
