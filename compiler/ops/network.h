#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/put.h"

namespace tilewire {

// The operands of the ops that reach any rank over the network, by name. Windows and objects are
// the parameters themselves, ranks are counted in the world, places are bytes from the start of a
// window's memory.

/// `network_put` and `network_get`: element (i, j, …) of so many, so many elements apart. An extent
/// of 0 or less: nothing.
struct NetworkCopy {
  Value* to = nullptr;    ///< window; a put's at `rank`, a get's this rank's own
  Value* from = nullptr;  ///< window; a put's this rank's own, a get's at `rank`
  Value* rank = nullptr;
  Value* to_bytes = nullptr;
  Value* from_bytes = nullptr;
  std::vector<ViewCopy::Dimension> dimensions;
  int element_bytes = 1;
  int known_bytes = 1;  ///< places, strides and runs of the last dimension are multiples of this

  static constexpr std::size_t kNumPlaces = 5;  ///< operands in front of the dimensions
  static NetworkCopy of(const Statement& statement);
};

/// `network_store`: what `tile_store` says, at a place of `to` at `rank` instead of a pointer.
struct NetworkStore {
  Value* to = nullptr;  ///< window
  Value* rank = nullptr;
  Value* to_bytes = nullptr;  ///< where the pointer would lead
  TileAccess access;          ///< without its pointer

  static constexpr std::size_t kNumPlaces = 3;  ///< operands in front of the tile
  static NetworkStore of(const Statement& statement);
};

/// `network_signal`.
struct NetworkSignal {
  Value* semaphore = nullptr;  ///< the parameter
  Value* rank = nullptr;
  Value* element = nullptr;    ///< its number in row-major order, an index
  Value* n = nullptr;          ///< u32
  Value* predicate = nullptr;  ///< false: nothing happens; null: it always does

  static NetworkSignal of(const Statement& statement);
};

/// Bytes of a tile that `network_store` must keep somewhere until they are sent; 0: of one element,
/// which travels in the message itself.
std::int64_t staged_bytes(const Statement& network_store);

/// Bytes of a message's image, at most, that a channel's op keeps until it is sent; 0 where it
/// sends none over the network.
std::int64_t staged_message_bytes(const Statement& channel_op);

}  // namespace tilewire
