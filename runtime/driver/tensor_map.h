#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/jit/artifact.h"
#include "runtime/driver/argument_layout.h"
#include "runtime/driver/cuda_api.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/memory.h"
#include "runtime/driver/tensor_map_cache.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// A tensor map as cuTensorMapEncodeTiled is asked for it. Dimensions from the innermost outwards.
struct TensorMapRequest {
  int data_type = 0;
  unsigned rank = 0;
  cuda::DevicePointer address = 0;
  std::array<std::uint64_t, kMaxMapRank> extents{};
  std::array<std::uint64_t, kMaxMapRank - 1> strides{};  ///< bytes; of all but the innermost
  std::array<unsigned, kMaxMapRank> box{};
  int swizzle = 0;
};

/// From a launch's argument values to one tensor map.
class TensorMapRecipe {
 public:
  /// InternalError where map number `map` of the artifact isn't one that the hardware has, or names
  /// what isn't among the kernel's arguments.
  TensorMapRecipe(const Artifact& artifact, std::size_t map);

  /// What of a launch's arguments the map follows from: `num_words()` of them are set.
  using Words = std::array<std::uint64_t, TensorMapCache::kMaxWords>;
  std::size_t num_words() const { return sources_.size(); }
  void read(const ArgumentValue* values, int lsa_rank, Words& words) const;

  /// The map of an array without elements sees one element of the spare lines: all that it loads is
  /// 0, and what a kernel stores goes nowhere. UserError where TMA can't access the array.
  TensorMapRequest request(const Words& words, const SpareLines& spare) const;

  /// For messages: kernel, argument, address, extents, strides.
  std::string describe(const Words& words) const;

 private:
  /// Word number `word` of the value in a slot.
  struct Source {
    std::size_t slot;
    std::size_t word;
  };
  /// A number that is known, or a word.
  struct Number {
    std::int64_t known = 0;
    int word = -1;
    std::int64_t of(const Words& words) const;
  };
  /// In the order of the parameter's dimensions; strides in elements.
  struct Array {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
  };

  void check(const Artifact& artifact, std::size_t map) const;
  void read_sizes(const Artifact& artifact);
  int add_source(const Artifact& artifact, const ArgumentSlot& slot, std::size_t word = 0);
  Array array(const Words& words) const;
  bool has_peers() const { return spec_.dimensions.back() == TensorMapSpec::kLsaRank; }

  TensorMapSpec spec_;
  std::string kernel_;
  std::string parameter_;
  int lsa_size_;
  bool is_written_;
  std::vector<Source> sources_;  ///< the address first; with peers, the distance of copies next
  std::vector<Number> extents_;  ///< by dimension of the parameter
  std::vector<Number> strides_;  ///< so; empty: those of a contiguous array
};

/// The map as the driver makes it, for this GPU.
cuda::Result encode_tensor_map(const Device& device, const TensorMapRequest& request,
                               device::TensorMap& made);

/// The tensor maps that a kernel takes. Any thread may ask for those of a launch.
class TensorMaps {
 public:
  using Encode = std::function<cuda::Result(const TensorMapRequest&, device::TensorMap&)>;
  TensorMaps(const Artifact& artifact, SpareLines spare, Encode encode);

  /// Those of a launch with these argument values, on this rank of its LSA team, one per element of
  /// `Artifact::tensor_maps`. UserError where TMA can't access an argument; BackendError where the
  /// driver refuses.
  void make(const ArgumentValue* values, int lsa_rank, device::TensorMap* maps) const;

 private:
  struct Map {
    TensorMapRecipe recipe;
    std::unique_ptr<TensorMapCache> cache;
  };
  void encode(const Map& map, const TensorMapRecipe::Words& words, device::TensorMap& made) const;

  std::vector<Map> maps_;
  SpareLines spare_;
  Encode encode_;
};

}  // namespace tilewire
