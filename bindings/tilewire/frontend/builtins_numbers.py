"""Conversions, bits and random numbers: what has arguments beside its operands."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import describe, is_operand


@builtin
def cast(call: Call, x: Any, dtype: Any, rounding: Any = None, saturate: Any = None) -> Value:
    """`x` in another dtype; floats to nearest even, or `"toward_zero"`, `"up"`, `"down"`."""
    to = call.dtype(dtype)
    if rounding is None and saturate is None:
        return call.build("cast", x, to)
    if not isinstance(rounding, str | None):
        call.fail(f'rounding= takes "nearest", "toward_zero", "up" or "down", found {rounding!r}')
    if not isinstance(saturate, bool | None):
        call.fail(f"saturate= takes True or False, found {describe(saturate)}")
    return call.build("cast", x, to, rounding or "nearest", saturate)


@builtin
def bitcast(call: Call, x: Any, dtype: Any) -> Value:
    """The bits of `x` as values of another dtype of the same width."""
    return call.build("bitcast", x, call.dtype(dtype))


@builtin
def arange(
    call: Call, start: Any, stop: Any = None, step: Any = 1, dtype: Any = DType.i32
) -> Value:
    """The integers from `start` (0 where one argument is given) to before `stop`."""
    first, last = (0, start) if stop is None else (start, stop)
    numbers = (
        call.static_int(first, "start"),
        call.static_int(last, "stop"),
        call.static_int(step, "the step"),
    )
    return call.build("arange", *numbers, call.dtype(dtype))


@builtin
def fma(call: Call, a: Any, b: Any, c: Any) -> Value:
    """`a * b + c` of floats, rounded once (16-bit floats: in f32, then once more)."""
    return call.build("fma", a, b, c)


@builtin
def clamp(call: Call, x: Any, low: Any, high: Any) -> Value:
    """`tw.minimum(tw.maximum(x, low), high)`, in the dtype of `x`; NaN stays NaN."""
    return call.build("clamp", x, low, high)


@builtin
def isnan(call: Call, x: Any) -> Value:
    """Whether an element is NaN."""
    return call.build("isnan", x)


@builtin
def isinf(call: Call, x: Any) -> Value:
    """Whether an element is infinity, of either sign."""
    return call.build("isinf", x)


@builtin
def philox(call: Call, seed: Any, counter: Any, stream: Any = 0) -> tuple[Value, ...]:
    """Four u32 tiles of random bits (Philox4x32-10), a function of these three integers alone."""
    _require_operands(call, seed, counter, stream)
    return tuple(call.build("philox", seed, counter, stream))


@builtin
def uniform(call: Call, seed: Any, counter: Any, stream: Any = 0) -> Value:
    """Random f32 in [0, 1): the first of `tw.philox`'s words, its upper 24 bits."""
    _require_operands(call, seed, counter, stream)
    return call.build("uniform", seed, counter, stream)


def _require_operands(call: Call, *operands: Any) -> None:
    for each in operands:
        if not is_operand(each):
            call.fail(f"{describe(each)} is neither tile, scalar nor number")
