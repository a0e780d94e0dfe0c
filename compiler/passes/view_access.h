#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ops/memory.h"
#include "compiler/passes/bounds.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {

/// A number of elements: known now, or an index value.
struct Amount {
  std::int64_t constant = kDynamic;
  Value* value = nullptr;  ///< set where `constant` is kDynamic

  bool is_constant() const { return value == nullptr; }
  Value* materialise(Inserter& insert) const;
};

/// One dimension of a view while views are lowered. Element j of it exists in the parameter where
/// the mask holds, 0 <= begin + j < bound; without a mask all of 0 <= j < extent do.
struct ViewDimension {
  Amount extent;
  Amount stride;
  std::optional<AccessMask> mask;
  bool is_gathered = false;   ///< `Gather` says where element j lies; stride is 0
  int source = kNoDimension;  ///< the parameter's dimension that it goes along, by steps of 1
  bool is_whole = false;      ///< all of that dimension
  /// Of a range `lower:upper` of all of that dimension, and of a part of one: the bounds as they
  /// were given. Clamped, they are the same but where nothing of the range exists.
  struct Range {
    Value* lower;
    Value* upper;
    Value* clamped_lower;  ///< which was added to the address
  };
  std::optional<Range> range = {};

  static constexpr int kNoDimension = -1;
};

/// Index tiles of a view: element j of their dimensions lies `offsets[j]` elements further.
struct Gather {
  Value* offsets = nullptr;     ///< i64 tile; TileAccess::kOutside: no such element
  std::size_t dimension = 0;    ///< the view's first one that is gathered
  std::vector<Amount> strides;  ///< that indices were multiplied with
};

/// A view as index arithmetic over the parameter that it looks at.
struct LoweredView {
  /// What an index added to the address: index · stride.
  struct Term {
    Value* index;
    Amount stride;
    int source = ViewDimension::kNoDimension;  ///< the parameter's dimension that it goes along
  };

  Value* base = nullptr;         ///< the parameter
  DType dtype = DType::kF32;     ///< of the elements: not the parameter's where it is a field
  std::int64_t byte_offset = 0;  ///< of a field in its record
  Value* rank = nullptr;         ///< whose copy; null: this rank's
  bool is_over_network = false;  ///< `rank` counts in the world, and is out of reach
  bool is_multicast = false;     ///< all copies of the LSA team at once
  /// Where the parameter's elements begin, counted from the start of its memory in elements of the
  /// parameter: a multiple of 128 bytes; null: there.
  Value* start = nullptr;
  std::vector<ViewDimension> dimensions;
  std::vector<Term> terms;
  std::optional<Gather> gather;
  std::vector<Value*> guards;  ///< bools: all must hold for anything of the view to exist
  /// Some guard says more than that an index lies inside of the parameter.
  bool has_inner_guard = false;
};

/// The view that a parameter itself is. `is_contiguous`: row-major without gaps, so that strides
/// are products of extents; else they are run-time values.
LoweredView whole_view(Value* parameter, const std::vector<Amount>& extents, bool is_contiguous,
                       Inserter& insert);

/// Where the elements of a rotating window's copy for a launch begin (`LoweredView::start`).
/// `window`: all of it; `launch`: the launch's number.
Value* start_of_copy(const LoweredView& window, Value* launch, std::int64_t num_copies,
                     Inserter& insert);

/// `view[indices…]`. Masks and guards are left out where `bounds` proves being inside.
LoweredView slice_view(const LoweredView& view, const std::vector<SliceIndex>& indices,
                       Bounds& bounds, Inserter& insert);

/// Index tiles `view[a, b, …]` of dimensions `from`, all of one shape: puts the dimensions
/// that they make at `position` of `result`. Indices outside of a dimension have no element.
void gather(LoweredView& result, std::size_t position,
            const std::vector<const ViewDimension*>& from, const std::vector<Value*>& tiles,
            Inserter& insert);

/// `view` under another shape: `offset` elements behind its first, which strides count from.
LoweredView reshaped_view(const LoweredView& view, Value* offset, const std::vector<Amount>& shape,
                          const std::vector<Amount>& strides);

/// Dimension i of the result is dimension order[i] of the view.
LoweredView permuted_view(const LoweredView& view, const std::vector<std::int64_t>& order,
                          const Inserter& insert);

/// A field of each record of a view of bytes that wasn't sliced.
LoweredView field_view(const LoweredView& bytes, std::int64_t offset, DType dtype,
                       const std::vector<std::int64_t>& shape, Inserter& insert);

/// Which elements exist: a bool tile of the view's shape, or a scalar.
Value* inside(const LoweredView& view, Inserter& insert);

/// The view's first element.
Value* address_of(const LoweredView& view, Inserter& insert);

/// Elements that are contiguous and aligned together along the last dimension: a power of two that
/// divides the last extent, 16 bytes' worth at most. A mask may still cut through such a vector.
/// `alignment`: of the parameter, in bytes. `is_mappable`: its strides are multiples of 16 bytes,
/// but for those of dimensions that have one index.
int vector_of(const LoweredView& view, DType dtype, int alignment, Bounds& bounds,
              bool is_mappable = false);

/// Appends a `view_copy` of the elements that both views have. UserError where one is made of index
/// tiles. `alignments`: of the parameters, in bytes.
void copy_view(LoweredView to, LoweredView from, std::pair<int, int> alignments, Bounds& bounds,
               Inserter& insert);

}  // namespace tilewire
