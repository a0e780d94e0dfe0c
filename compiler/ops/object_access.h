#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ops/op.h"

namespace tilewire {

/// The operands of a lowered op on synchronisation objects (`OpInfo::lowered`), by name.
///
/// In order: the place, which is a pointer to the first element of semaphores and flags; of
/// channels the parameter, the slot's number and, if `peer`, the rank; then what the op takes
/// besides; then a bool scalar if `predicated` (false: nothing happens). `shape` and `strides`, in
/// elements, say which elements of the array: empty for one.
struct ObjectAccess {
  Value* pointer = nullptr;  ///< semaphores and flags; its dtype is `object_dtype`
  Value* channel = nullptr;  ///< channels: the parameter
  Value* slot = nullptr;     ///< channels: number of the first slot, an index
  Value* rank = nullptr;     ///< channels: whose; null: this rank's
  bool is_at_peer = false;   ///< `.at(r)` was written, in a world of several ranks
  std::vector<Value*> values;
  Value* predicate = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;

  static ObjectAccess of(const Statement& statement);
  std::int64_t num_elements() const;
};

/// The attributes that `ObjectAccess` reads.
std::vector<AttributeSpec> object_access_attributes();

// Further attributes of ops that tell, and of ops that wait.
inline constexpr AttributeSpec kObjectScope = {"scope", AttributeSpec::Kind::kText, true,
                                               "where those are who use it: `gpu` or `system`"};
inline constexpr AttributeSpec kToldScope = {"told", AttributeSpec::Kind::kText, true,
                                             "where those are who learn of it: `gpu` or `system`"};
inline constexpr AttributeSpec kTellingOrder = {"order", AttributeSpec::Kind::kText, true,
                                                "`release`, or `relaxed` where nothing is new"};
inline constexpr AttributeSpec kPatient = {"patient", AttributeSpec::Kind::kBool, false,
                                           "waits without a deadline"};
inline constexpr AttributeSpec kByMover = {
    "mover", AttributeSpec::Kind::kBool, false,
    "of kernels with roles: the warp that moves tiles does it, behind those it was handed before"};
inline constexpr AttributeSpec kByProducer = {
    "producer", AttributeSpec::Kind::kBool, false,
    "of flags: the thread that brings a matmul's operands waits (before roles are split: it may)"};
inline constexpr AttributeSpec kOnce = {
    "once", AttributeSpec::Kind::kBool, false,
    "of the producer: all its waits for this array are for the same count, a flag is polled once"};
inline constexpr AttributeSpec kOverNetwork = {"network", AttributeSpec::Kind::kBool, false,
                                               "ranks out of reach of stores use it too"};
inline constexpr AttributeSpec kWaitSite = {"site", AttributeSpec::Kind::kInteger, false,
                                            "its number in hang reports"};

/// Checks what `ObjectAccess` describes: the place, `num_values` operands of any kind, a predicate.
void check_object_access(const OpCall& call, std::size_t num_values);
/// Checks `kToldScope` and `kTellingOrder`.
void check_telling(const OpCall& call);

/// Ops that change memory of `scope` in one step: where that is the system, peers do too.
Resources needs_atomics(const Statement& statement);

/// What the CPU's wait is told of a statement: site, number of dimensions, extents, strides.
std::vector<std::int64_t> wait_constants(const Statement& statement);

}  // namespace tilewire
