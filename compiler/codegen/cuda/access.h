#pragma once

#include <string>

#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/memory.h"

namespace tilewire {

void emit_tile_load_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_tile_store_cuda(const Statement& statement, CudaEmitter& emitter);
/// A pointer where the tile lies there in one piece, else (and if `is_spelled_out`) an access that
/// says where each dimension lies. `tile`: the type of what is read or written.
std::string access_text(const TileAccess& access, const Type& tile, const Statement& statement,
                        CudaEmitter& emitter, bool is_spelled_out = false);
/// The same, always spelled out, of an access whose place is another expression than its pointer.
std::string access_at(const std::string& pointer, const TileAccess& access, const Type& tile,
                      const Statement& statement, CudaEmitter& emitter);
/// The tile that an access reads or writes; of a stored scalar, one full of it, spread over threads
/// as its mask or its offsets are.
Type tile_type(const Statement& statement, const TileAccess& access);
/// InternalError where a mask or a replacement is spread over threads unlike the tile.
void require_layout(const Value* other, const Type& tile, const Statement& statement);
/// Elements per instruction: what the layout keeps together and the access allows.
int vector_of(const TileAccess& access, const Type& tile);
/// The conditions under which an access of rank 0 exists; empty: always.
std::string scalar_condition(const TileAccess& access, CudaEmitter& emitter);
void emit_tile_prefetch_cuda(const Statement& statement, CudaEmitter& emitter);
/// What the offsets of a gather pass through, where threads need other ones than they hold.
int access_shared_bytes(const Statement& statement, int num_threads);

}  // namespace tilewire
