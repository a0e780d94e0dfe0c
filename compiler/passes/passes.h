#pragma once

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// `persistent`, `ranks` and `peers` become `range`; loops over at most 8 ranks are unrolled.
Program specialise(Program program, const Target& target);

/// Constant folding, algebraic identities, common subexpressions, dead code.
Program canonicalise(Program program);

/// `inline_cuda` keeps its text on GPUs, and becomes its reference on the CPU. UserError where
/// there is none.
Program choose_inline(Program program, const Target& target);

/// Reductions over all copies of a window in any order become those of a multicast address, where
/// the target has them. UserError at the line of a `multicast`, or of what uses it, that the target
/// hasn't got.
Program choose_multimem(Program program, const Target& target);

/// An assertion in front of each op at a rank of a team, `at(r, team=…)`, that the team has this
/// rank. On the CPU where nothing later asks for that: what goes by ranks of the world has
/// forgotten the team, and in a team of one all ranks are this one.
Program check_ranks(Program program, const Target& target);

/// What stands in tasks (`if in_task`) becomes a program beside the rest: `if in_task {what the
/// tasks do, and the slice of the program that they depend on; return} the rest`. UserError where
/// a task does what a warp beside the others can't, or depends on what only the rest knows.
Program split_tasks(Program program);
/// UserError where a task reaches ranks over the network.
void check_tasks_reach(const Program& program);

/// Chooses each communication op's transport from the target: in a world of 1 cross-rank work
/// disappears; a barrier over ranks that all reach each other becomes `lsa_barrier`. UserError at
/// the line that asks for what the target hasn't got.
Program legalise_communication(Program program, const Target& target);

/// What launches do for the flag arrays and rotating windows that they take (LaunchState in
/// templates/tilewire/object_layout.cuh): each instance reads its launch's number, the first one
/// announces it to the peers, writes wait where a peer's earlier launch may still use what they
/// change, and every way out of the kernel leaves the launch.
Program insert_launch_states(Program program, const Target& target);

/// Puts the stacks together that `canonicalise` hasn't folded into what uses them: as reshaped
/// tiles one behind the other. Parts that are only stored go to their rows one by one.
Program lower_stacks(Program program);

/// Marks the products whose operands a producer can bring to shared memory while others multiply
/// (`matmul` attribute `staged`): where the target has wgmma, the parameters can have tensor maps,
/// and the producer can tell by itself what comes next.
Program stage_products(Program program, const Target& target);
/// Whether it does so for this target.
bool has_staged_products(const Target& target);

/// Replaces views: what makes, reads and writes them becomes index arithmetic, `address`, and ops
/// on addresses (`tile_load`, `tile_store`, …), with masks only where being inside isn't proven.
/// `checks_views`: a `view` that reaches beyond its parameter's memory ends the launch.
Program lower_views(Program program, bool checks_views = false);

/// Drops the release half of barriers that have nothing to release: this instance stored nothing
/// that a peer could see since it began or since its last release. Work of earlier launches was
/// performed when they ended, and loads before the barrier are over when the CTA has met.
Program elide_releases(Program program);

/// Puts `drain_copies` before what releases bulk copies and before what may touch the memory that
/// they write.
Program drain_copies(Program program);

/// Where products have no producer: in loops whose products' operands can be copied to shared
/// memory several iterations before they are multiplied (`matmul` attribute `ahead`), all threads
/// do so.
Program fill_ahead(Program program, const Target& target);
/// Whether it does so for this target.
bool has_products_ahead(const Target& target);

/// Chooses threads per CTA and every tile's layout; a `relayout` stands where two layouts meet.
Program infer_layouts(Program program, const Target& target);

/// Puts `fence_aliases` between accesses through multicast addresses and those through ranks' own
/// that may be of the same memory. After layouts are known: they say which elements of a multicast
/// write go to each copy by itself.
Program fence_aliases(Program program);

/// Moves pure ops out of loops that they don't depend on. After layouts are known, so that tiles
/// which stay alive over the loop take few registers.
Program hoist_invariants(Program program);

/// Of the slots of channels that are known from the start and named in one way only, the count is
/// read when the kernel begins, kept in registers, and stored when it ends. An exchange whose slot
/// nothing uses before it in the launch learns so (CUDA).
Program keep_channel_counts(Program program, const Target& target);

/// Operands that all program instances of a cluster read from the same place are brought once, a
/// part by each (`operand_load` attribute `shared`). Where there are none, instances are launched
/// one by one.
Program share_operands(Program program);

/// Of a program with staged products: waits for flags that the producer's loads stand behind are
/// the producer's (`flag_wait` attribute `producer`), and the consumers' too where they may not
/// learn of them from the ring; behind other waits the consumers hand over to the producer.
Program place_waits(Program program);

/// Splits a program with staged products into roles: `if is_producer {the loads of operands, and
/// what they depend on} else {the rest}`.
Program split_roles(Program program);

/// Of a program with roles: stores to peers, and loads of tiles, that products can overlap with
/// become the mover's, where shared memory has room for a tile: `put_tile` and `receive_tile`,
/// `take_tile` and `fetch_tile`, in the same order in both roles. So do waits that loads stand
/// behind, and what tells others of stores. `await_moves` stands before what else depends on them.
Program split_mover(Program program);

/// Of products whose left operand is in registers: whether these are read again behind the product,
/// by others or in the loop's next iteration (`matmul` attribute `kept`).
Program mark_kept(Program program);

}  // namespace tilewire
