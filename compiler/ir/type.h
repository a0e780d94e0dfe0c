#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/dtype.h"

namespace tilewire {

/// An extent that is known only at run time.
inline constexpr std::int64_t kDynamic = -1;

/// How a register tile's elements are spread over a CTA's threads: one of the layouts in
/// `templates/tilewire/layout.cuh`, which say which thread holds what.
struct Layout {
  enum class Kind : std::uint8_t {
    kBlocked,    ///< `Blocked`: vectors of consecutive elements, round-robin over all threads
    kRows,       ///< `Rows`: `lanes` threads share a row of the last dimension
    kPerRow,     ///< the slice that a reduction along those rows leaves: `lanes` threads hold each
    kPerColumn,  ///< the slice that a reduction over those rows leaves
    kFragment,   ///< `Fragment`: as wgmma leaves a product in the registers of its warpgroups
    kFragmentPerRow,     ///< the slice that a reduction along its rows leaves
    kFragmentPerColumn,  ///< the slice that a reduction over its rows leaves
    kStaged,             ///< in shared memory, where a producer has brought it; in no register
  };
  Kind kind = Kind::kBlocked;
  int vector = 0;  ///< consecutive elements; 0: not yet inferred (the layout pass sets it)
  int lanes = 0;   ///< threads that share a row, of what has rows and of its slices; else 0
  auto operator<=>(const Layout&) const = default;

  bool is_known() const { return vector > 0; }
  /// Several threads may hold one element.
  bool is_replicated() const { return is_per_row() || is_per_column(); }
  bool is_per_row() const { return kind == Kind::kPerRow || kind == Kind::kFragmentPerRow; }
  bool is_per_column() const {
    return kind == Kind::kPerColumn || kind == Kind::kFragmentPerColumn;
  }
  /// One of the layouts that go by the rows of products, where four threads share a row.
  static Layout fragment(Kind kind) { return {kind, kind == Kind::kFragmentPerRow ? 1 : 2, 4}; }
  /// As IR text has it behind a tile's shape: `vector 8, rows 4`.
  std::string to_string() const;
};

/// What a view looks at: this rank's own memory, symmetric memory, or an array of synchronisation
/// objects, whose elements only their own ops touch.
enum class Memory : std::uint8_t { kTensor, kWindow, kSemaphore, kFlag, kChannel };

/// `tensor`, `window`, `semaphore`, …
std::string_view name_of(Memory memory);
/// Whether it is an array of synchronisation objects.
bool is_object(Memory memory);
/// What the address of an object's memory counts in: u64 cells of semaphores, u32 words of flags,
/// bytes of channels.
DType object_dtype(Memory memory);

/// The type of an SSA value.
///
/// - scalar: `bf16`
/// - tile: `tile<f32[8192]>`, static shape
/// - view: `view<bf16[?, 8192]>`, `window<bf16[?, 8192]>`: a place in memory with extents that may
///   be dynamic. A dimension made by `ds` has a static extent, yet its elements may lie outside.
///   `semaphore<[8]>`, `flag<[2, 64]>`, `channel<[2, 64]>`: elements of an array of objects.
/// - pointer: `pointer<bf16>`: an address, after views were lowered
struct Type {
  enum class Kind : std::uint8_t { kScalar, kTile, kView, kPointer };

  Kind kind = Kind::kScalar;
  DType dtype = DType::kI64;
  std::vector<std::int64_t> shape;  ///< tile, view; kDynamic where unknown (views only)
  Memory memory = Memory::kTensor;  ///< view
  Layout layout;                    ///< tile

  static Type scalar(DType dtype);
  static Type tile(DType dtype, std::vector<std::int64_t> shape, Layout layout = {});
  static Type view(DType dtype, std::vector<std::int64_t> shape, Memory memory);
  static Type object(Memory memory, std::vector<std::int64_t> shape);
  static Type pointer(DType dtype);

  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_tile() const { return kind == Kind::kTile; }
  bool is_view() const { return kind == Kind::kView; }
  bool is_pointer() const { return kind == Kind::kPointer; }
  /// A view of synchronisation objects.
  bool is_object() const { return is_view() && tilewire::is_object(memory); }

  int rank() const { return static_cast<int>(shape.size()); }
  /// Elements of a tile; 1 for a scalar.
  std::int64_t num_elements() const;
  Type with_dtype(DType new_dtype) const;

  std::string to_string() const;
  bool operator==(const Type&) const = default;
};

/// The type of indices, extents, program ids and ranks: 64 bits, so that no product overflows.
inline constexpr DType kIndex = DType::kI64;

/// `[2, 8192]`, with `?` for dynamic extents.
std::string shape_to_string(const std::vector<std::int64_t>& shape);

}  // namespace tilewire
