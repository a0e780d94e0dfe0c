// Accesses whose elements lie where index tiles say: gathers and scatters.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/memory.cuh"

namespace tilewire::device {

/// An offset that says: there is no such element.
inline constexpr int64_t kOutside = static_cast<int64_t>(uint64_t{1} << 63);

/// Offsets that each thread holds for the elements that it holds.
template <typename OffsetsTile>
struct HeldOffsets {
  typename Operand<OffsetsTile>::Held offsets;
  TILEWIRE_DEVICE int64_t of(int slot, int) const { return element(offsets, slot); }
};

/// Offsets in shared memory: an element of the tile, of shape `Result`, has that of `Source` which
/// it repeats.
template <typename Result, typename Source>
struct SharedOffsets {
  const int64_t* offsets;
  TILEWIRE_DEVICE int64_t of(int, int index) const {
    return offsets[broadcast_source<Result, Source>(index)];
  }
};

/// `access`, with each element as many elements further as its offset says.
template <typename A, typename Offsets>
struct Gathered {
  static constexpr int kElements = A::kElements;
  static TILEWIRE_CONSTEXPR bool cuts_vectors() { return A::cuts_vectors(); }
  A access;
  Offsets offsets;
  decltype(A::pointer) pointer;
};

/// The offsets are spread over threads as the tile is.
template <typename A, typename OffsetsTile>
TILEWIRE_DEVICE Gathered<A, HeldOffsets<OffsetsTile>> gathered(const A& access,
                                                               const OffsetsTile& offsets) {
  return {access, {offsets}, access.pointer};
}

/// The tile has shape `Result`, the offsets shape `Source`. They pass through `shared`, which
/// nobody may be using; the CTA's threads meet inside.
template <typename Result, typename Source, typename A, typename OffsetsTile>
TILEWIRE_DEVICE Gathered<A, SharedOffsets<Result, Source>> gathered_through(
    const A& access, const OffsetsTile& offsets, void* shared) {
  int64_t* piece = static_cast<int64_t*>(shared);
  put_piece<Source::kElements>(offsets, 0, piece);
  meet();
  return {access, {piece}, access.pointer};
}

/// The run of the vector that starts in register `slot`: it lies in one piece.
template <typename L, int kVector, typename A, typename Offsets>
TILEWIRE_DEVICE Run run_of(const Gathered<A, Offsets>& gathered, int slot) {
  Run run = run_of<L, kVector>(gathered.access, slot);
  if (L::holds(threadIdx.x, slot)) {
    const int64_t offset = gathered.offsets.of(slot, L::element(threadIdx.x, slot));
    if (offset == kOutside) return {0, 0, 0};
    run.offset += offset;
  }
  return run;
}

template <typename TileType, int kVector, Cache kCache = Cache::kDefault, typename... A>
TILEWIRE_DEVICE TileType load(const Gathered<A...>& access) {
  return load<TileType, kVector, kCache>(access, typename TileType::Element{}, true);
}
template <int kVector, Cache kCache = Cache::kDefault, typename... A, typename TileType>
TILEWIRE_DEVICE void store(const Gathered<A...>& access, const TileType& source) {
  store<kVector, kCache>(access, source, true);
}

}  // namespace tilewire::device
