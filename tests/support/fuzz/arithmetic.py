"""Element-wise operations on `Bounded` arrays: what each does to values and to error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import tilewire as tw
from op_cases.case import FP8
from op_cases.compare import EPSILON

from fuzz.bounded import FUNCTION_ULPS, UNKNOWN, Bounded, cast, common_dtype, finish, monotone

_erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "erf": _erf,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def function(name: str, x: Bounded) -> Bounded:
    """A function of floats; near the zero of a logarithm its error is absolute."""
    x = cast(x, tw.f32) if x.dtype in FP8 or x.dtype not in EPSILON else x
    made = monotone(x, FUNCTIONS[name], x.dtype, FUNCTION_ULPS)
    return Bounded(made.dtype, made.value, made.error + FUNCTION_ULPS * EPSILON[x.dtype])


def floor_or_ceil(name: str, x: Bounded) -> Bounded:
    x = cast(x, tw.f32) if x.dtype in FP8 or x.dtype not in EPSILON else x
    with np.errstate(all="ignore"):
        do = np.floor if name == "floor" else np.ceil
        value = do(x.value)
        spread = np.maximum(do(x.value + x.error) - value, value - do(x.value - x.error))
    error = np.where(np.isfinite(x.error), spread, UNKNOWN)
    return Bounded(x.dtype, value, error)


def negate(x: Bounded) -> Bounded:
    with np.errstate(all="ignore"):
        return Bounded(x.dtype, -x.value, x.error)


def absolute(x: Bounded) -> Bounded:
    with np.errstate(all="ignore"):
        return Bounded(x.dtype, np.abs(x.value), x.error)


def invert(x: Bounded) -> Bounded:
    return Bounded(x.dtype, ~x.value, x.error)


def meet(a: Bounded, b: Bounded) -> tuple[Bounded, Bounded]:
    dtype = common_dtype(a.dtype, b.dtype)
    return cast(a, dtype), cast(b, dtype)


def binary(op: str, a: Bounded, b: Bounded) -> Bounded:
    """`op` by its name in the table, with the operands widened to where they meet."""
    a, b = meet(a, b)
    if op in ("and", "or", "xor"):
        do = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[op]
        return Bounded(a.dtype, do(a.value, b.value), a.error + b.error)
    if op in ("minimum", "maximum"):
        do = np.minimum if op == "minimum" else np.maximum
        return Bounded(a.dtype, do(a.value, b.value), np.maximum(a.error, b.error))
    if op in COMPARISONS:
        return compare(op, a, b)
    return (_float if a.is_float else _integer)(op, a, b)


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compare(op: str, a: Bounded, b: Bounded) -> Bounded:
    error = a.error + b.error
    with np.errstate(all="ignore"):
        apart = np.abs(a.value - b.value) > error if a.is_float else np.isfinite(error)
    known = (error == 0) | apart
    return Bounded(tw.bool, COMPARISONS[op](a.value, b.value), np.where(known, 0, UNKNOWN))


def _integer(op: str, a: Bounded, b: Bounded) -> Bounded:
    """Wraps; a division by 0 gives 0."""
    error = a.error + b.error
    with np.errstate(all="ignore"):
        if op in ("floordiv", "mod"):
            divisor = np.where(b.value == 0, 1, b.value).astype(b.value.dtype)
            value = (np.floor_divide if op == "floordiv" else np.mod)(a.value, divisor)
            return Bounded(a.dtype, np.where(b.value == 0, 0, value).astype(value.dtype), error)
        do = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op]
        return Bounded(a.dtype, np.asarray(do(a.value, b.value)), error)


def _float(op: str, a: Bounded, b: Bounded) -> Bounded:
    with np.errstate(all="ignore"):
        if op in ("add", "sub"):
            value = a.value + b.value if op == "add" else a.value - b.value
            # A fused multiply-add leaves out the rounding of a product, which is in its error.
            return finish(value, a.error + b.error, a.dtype)
        if op == "mul":
            error = np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error
            return finish(
                a.value * b.value, np.nan_to_num(error, nan=UNKNOWN, posinf=UNKNOWN), a.dtype
            )
        assert op == "div", op
        value = a.value / b.value
        room = np.abs(b.value) - b.error
        error = np.where(room > 0, (a.error + np.abs(value) * b.error) / room, UNKNOWN)
    return finish(value, np.nan_to_num(error, nan=UNKNOWN, posinf=UNKNOWN), a.dtype, 2)
