#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/host_expression.h"
#include "compiler/jit/target.h"
#include "compiler/jit/tensor_map.h"

namespace tilewire {

/// What a kernel needs of the communicator. Each op says what it needs (`OpInfo::resources`); the
/// compiler sums. The user never counts barriers.
struct Resources {
  bool lane = false;           ///< gets its lane: barrier slots, and the page for hang reports
  bool world_barrier = false;  ///< a barrier slot per program instance, over all ranks
  bool waits = false;          ///< may wait for other CTAs or ranks: launched cooperatively
  bool grid_barrier = false;   ///< all its instances meet: launches of a lane must not overlap
  bool two_sided = false;      ///< every rank must launch it (barrier, flag, exchange), in the
                               ///< lane's order; else any ranks may, whenever they like
  bool network = false;        ///< reaches ranks over the network (GIN)
  bool peer_atomics = false;   ///< changes memory in one step that peers change too, or a peer's
  /// Bytes that an instance must keep at a time, at most, until the network has sent them.
  std::int64_t staging_bytes = 0;
  bool multimem = false;  ///< accesses through multicast addresses of the LSA team

  Resources& operator|=(const Resources& other) {
    lane |= other.lane;
    world_barrier |= other.world_barrier;
    waits |= other.waits;
    grid_barrier |= other.grid_barrier;
    two_sided |= other.two_sided;
    network |= other.network;
    peer_atomics |= other.peer_atomics;
    staging_bytes = std::max(staging_bytes, other.staging_bytes);
    multimem |= other.multimem;
    return *this;
  }
  bool operator==(const Resources&) const = default;
};

/// One kernel argument, in order. The runtime fills it; sizes are those of the C++ type named.
struct ArgumentSlot {
  enum class Kind : std::uint8_t {
    kTensor,      ///< void*: address of parameter `index`
    kWindow,      ///< tilewire::device::WindowHandle (templates/tilewire/abi.cuh) of `index`, a
                  ///< window or an array of objects; on the CPU: every rank's address
    kScalar,      ///< the parameter's dtype
    kExtent,      ///< int64: run-time dimension `index` of `Program::dimensions`
    kStride,      ///< int64, elements: of parameter `index`, dimension `dimension`
    kDeviceComm,  ///< ncclDevComm by value, as opaque bytes: of kernels that call NCCL
    kLane,        ///< tilewire::device::Lane by value (templates/tilewire/abi.cuh); without
                  ///< Resources::lane, for its ranks alone
    kCounters,   ///< void*: `LaunchRules::num_words` 64-bit words of device memory, 0 when a launch
                 ///< starts and when it has ended, used by no other meanwhile
    kTensorMap,  ///< tilewire::device::TensorMap by value, of `Artifact::tensor_maps[index]`
  };
  Kind kind = Kind::kTensor;
  int index = 0;
  int dimension = 0;
  bool operator==(const ArgumentSlot&) const = default;
};

/// A place in the user's program that can wait; its number goes into hang reports.
struct WaitSite {
  SourceLocation location;
  std::string what;  ///< `barrier(team=world)`
};

/// What all ranks of a two-sided launch must have in common, besides the grid.
struct Protocol {
  std::string name;          ///< for messages: `all_reduce(B=2048)`
  std::uint64_t digest = 0;  ///< of the kernel, its constants, types and waits
  /// Indices into `Artifact::arguments`: the run-time integers on which the number of meetings
  /// depends, unless it depends on the rank as well.
  std::vector<int> slots;
};

/// How the runtime may launch it.
struct LaunchRules {
  int num_threads = 0;
  int cluster_size = 1;
  bool cooperative = false;
  int dynamic_shared_bytes = 0;
  /// `Program::useful_grid` and `max_grid`: what bounds the grid of `tw.auto`.
  std::vector<GridBound> useful_grid;
  std::int64_t max_grid = 0;
  int num_counters = 0;          ///< of loops that hand out work dynamically
  bool has_task = false;         ///< each instance has one beside the rest of it
  HostExpression arrivals = {};  ///< words of the places that instances arrive at

  bool has_words() const { return num_counters > 0 || !arrivals.empty(); }
  /// Of the counters, and one for instances that are done with them.
  int num_counter_words() const { return num_counters > 0 ? num_counters + 1 : 0; }
  /// The words of the places. UserError where they are too many.
  std::int64_t num_places(std::span<const std::int64_t> extents) const;
  /// Behind each other: those of the counters, those of the places.
  std::int64_t num_words(std::span<const std::int64_t> extents) const {
    return num_counter_words() + num_places(extents);
  }
};

/// What the compiler hands the runtime. `compiler/` and `runtime/` meet only here.
struct Artifact {
  std::string kernel;  ///< the user's name
  std::string entry;   ///< the symbol
  std::string source_file;
  Target target;
  std::string source;                 ///< CUDA text; on the CPU, LLVM IR text
  std::string binary;                 ///< cubin; on the CPU, an object file. Empty until compiled
  std::vector<Parameter> parameters;  ///< `value` is null here
  std::vector<bool> written;          ///< parameter index → the kernel stores to it
  std::vector<std::string> dimensions;
  LocalFacts facts;
  std::vector<ArgumentSlot> arguments;
  std::vector<TensorMapSpec> tensor_maps;
  std::vector<WaitSite> wait_sites;
  LaunchRules launch;
  Resources resources;
  Protocol protocol;
  std::int64_t arena_bytes = 0;  ///< CPU: tile memory per program instance
};

/// JSON round trip, for the disk cache (the binary lies beside it, not in it).
std::string to_json(const Artifact& artifact);
Artifact artifact_from_json(const std::string& json);

}  // namespace tilewire
