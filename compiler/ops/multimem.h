#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// A reduction over all copies that a multicast address stands for, in one instruction of the
/// GPU's.
struct MultimemReduction {
  DType dtype;
  std::string_view operation;  ///< `add`, `min`, `max`, `and`, `or`, `xor`
  bool loads;                  ///< `multimem.ld_reduce` has it
  bool stores;                 ///< `multimem.red` has it
  /// What sums of several copies are kept in while they are made; they are rounded to the dtype
  /// once.
  DType accumulator;
  int capability;          ///< the first one that has it
  bool is_specific;        ///< only where the architecture's name ends in `a` or `f`
  std::string_view type;   ///< PTX's, of a word: `bf16x2`
  int elements_in_a_word;  ///< the smallest access: 4 bytes, 8 of 64-bit elements
};

/// All there are, from the PTX ISA; tests/nvrtc compiles each, and sees that no other compiles.
std::span<const MultimemReduction> multimem_reductions();

/// Whether the target has multimem, and this reduction. `kLoad` reads the reduced value, `kStore`
/// reduces a value into every copy. The CPU has what any GPU has.
enum class MultimemUse : std::uint8_t { kLoad, kStore };
bool has_multimem(const Target& target, DType dtype, std::string_view operation, MultimemUse use);

/// What the target has, in words: `add of f32, f64; min, max of f16, bf16`.
std::string multimem_of(const Target& target, MultimemUse use);

/// The statement that made a view all copies at once, `multicast`; null: the view isn't that.
const Statement* multicast_behind(const Value* view);

/// Whether it is an access through a multicast address, in a lowered program.
bool is_multimem(const Statement& statement);

}  // namespace tilewire
