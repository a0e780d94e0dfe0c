// The `inline_cuda` op: a function of the user's, element by element.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

/// `F::of` of scalars, or of each element of tiles; narrow floats come and go as f32.
template <typename Result, typename F, typename... A>
TILEWIRE_DEVICE Result inline_map(const A&... arguments) {
  if constexpr (Operand<Result>::kIsTile) {
    Result result;
    TILEWIRE_UNROLL
    for (int i = 0; i < Result::Layout::kRegisters; ++i) {
      result.set(i, Narrow<typename Result::Element>::of(F::of(wide(arguments, i)...)));
    }
    return result;
  } else {
    return Narrow<Result>::of(F::of(widen(arguments)...));
  }
}

}  // namespace tilewire::device
