#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ops/op.h"

namespace tilewire {

/// Where one dimension of an access may fall outside its view: element j is inside where
/// 0 <= begin + j < bound.
struct AccessMask {
  Value* begin;
  Value* bound;
};

/// One dimension of a lowered tile access.
struct AccessDimension {
  std::int64_t size;    ///< tile extent
  std::int64_t stride;  ///< in elements; kDynamic: `dynamic_stride` holds it
  Value* dynamic_stride = nullptr;
  std::optional<AccessMask> mask;  ///< absent: proven inside
};

/// The operands of `tile_load` and `tile_store`, by name. Both code generators read accesses
/// through this.
///
/// `tile_load(pointer, …) {shape, strides, masked, predicated, gather, other, where, vector}`;
/// operands in order: pointer; (store: the tile, whose shape it is; a scalar for an access of rank
/// 0); a dynamic stride per `kDynamic` in `strides`; begin and bound per 1 in `masked`; a bool
/// scalar if `predicated` (false: the whole access is outside); an i64 tile of offsets if `gather`;
/// `other` scalar or tile if `other`; a bool tile if `where`.
///
/// `gather = d`: the offsets' dimensions are those of the tile from `d` on, and its element there
/// says how many elements further the accessed one lies; kOutside: it doesn't exist.
///
///  `vector`: elements that are known to be contiguous and aligned together along
/// the last dimension, at most 16 bytes' worth; masks may cut through them. The tile's layout may
/// have longer vectors or shorter ones.
struct TileAccess {
  Value* pointer = nullptr;  ///< null of `network_store`, whose place has three operands
  Value* tile = nullptr;     ///< store and atomic: the value
  Value* compare = nullptr;  ///< atomic `cas`: what must be there
  std::vector<AccessDimension> dimensions;
  Value* predicate = nullptr;
  Value* offsets = nullptr;
  std::size_t gather = 0;  ///< the tile's first dimension that `offsets` has
  Value* other = nullptr;
  Value* where = nullptr;
  int vector = 1;

  /// An offset that says: there is no such element.
  static constexpr std::int64_t kOutside = INT64_MIN;

  static TileAccess of(const Statement& statement);
  bool is_masked() const;
  /// The offsets' extents where the tile has that dimension, else 1; of the tile's rank.
  std::vector<std::int64_t> offsets_shape() const;
};

// What the ops that access memory have in common.

/// The type that an access of a view has: a tile, or a scalar where no dimension is left.
Type accessed_type(const OpCall& call, const Type& view);
/// The operand is a mask for a tile.
void check_where(const OpCall& call, std::size_t operand, const Type& tile);
/// The value is a scalar or a tile of that dtype and shape.
void check_fits(const OpCall& call, const Type& value, const Type& tile, std::string_view what);
/// Checks the operand list that TileAccess describes; `next` points behind pointer and values.
void check_access(const OpCall& call, const Type& tile, std::size_t next);
/// What a lowered access says of itself; TileAccess reads it back.
std::vector<AttributeSpec> access_attributes();

/// How long caches should keep what an access touches: attribute `cache`.
///
/// - `streaming`: not longer than needed, nobody reads it soon
/// - `last`: in the L2 cache, as long as possible
/// - `l2`: in the L2 cache only
/// - `through`: a store that goes on to memory
const std::vector<std::string_view>& load_cache_hints();
const std::vector<std::string_view>& store_cache_hints();

/// One index of a `slice`: what happens to one dimension of the view.
struct SliceIndex {
  enum class Kind { kAt, kAll, kDs, kDsBelow, kRange, kTile };
  Kind kind;
  Value* first = nullptr;        ///< index, start, lower or index tile
  Value* second = nullptr;       ///< upper or end
  std::int64_t size = kDynamic;  ///< of ds
};
std::vector<SliceIndex> slice_indices(const Statement& slice);

/// The text form of the indices, attribute `index` of `slice`: comma-separated `at` (one operand,
/// drops the dimension), `all`, `ds N` (operand start), `ds N below` (operands start, end: what
/// lies at `end` or behind it doesn't exist), `range` (operands lower, upper; a view that clips),
/// `tile` (an integer tile). Tiles have one shape; its dimensions stand where the first of them
/// does.
struct SlicePattern {
  SliceIndex::Kind kind;
  std::int64_t size = kDynamic;
};
std::vector<SlicePattern> parse_slice_pattern(std::string_view text);
std::string slice_pattern_to_string(const std::vector<SlicePattern>& patterns);
int num_operands(SliceIndex::Kind kind);

/// The parameter that a view of a program that isn't lowered looks at.
const Value* parameter_of(const Value* view);
/// The op of that name among those that made a view, the last one; null: none.
const Statement* view_op_behind(const Value* view, std::string_view name);

/// The `address` that a lowered pointer is; null: unknown.
const Statement* address_behind(const Value* pointer);

/// The parameter that a lowered pointer leads into; null: unknown.
const Value* parameter_behind(const Value* pointer);
/// Whether two parameters (null: any) may be the same memory: no tensor has two shapes.
bool may_share_memory(const Program& program, const Value* a, const Value* b);

}  // namespace tilewire
