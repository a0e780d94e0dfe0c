"""Element-wise operations on `Bounded` arrays: what each does to values and to error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import tilewire as tw
from op_cases.case import FP8
from op_cases.compare import EPSILON
from tilewire.types import to_numpy_dtype

from fuzz.bounded import FUNCTION_ULPS, UNKNOWN, Bounded, cast, common_dtype, finish, monotone

_erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": _erf,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def function(name: str, x: Bounded) -> Bounded:
    """A function of floats, to a few units in the last place of f32, then rounded; near the zero of
    a logarithm its error is absolute."""
    x = cast(x, tw.f32) if x.dtype in FP8 or x.dtype not in EPSILON else x
    ulps = FUNCTION_ULPS if x.dtype in (tw.f32, tw.f64) else 2
    made = monotone(x, FUNCTIONS[name], x.dtype, ulps)
    if name in ("sin", "cos"):  # not monotone, and no steeper than 1
        made = finish(made.value, x.error, x.dtype, ulps)
    more = ulps * EPSILON[x.dtype] if name in ("log", "log2", "sin", "cos") else 0
    return Bounded(made.dtype, made.value, made.error + more)


ROUNDINGS = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}


def rounding(name: str, x: Bounded) -> Bounded:
    x = cast(x, tw.f32) if x.dtype in FP8 or x.dtype not in EPSILON else x
    with np.errstate(all="ignore"):
        do = ROUNDINGS[name]
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


def fma(a: Bounded, b: Bounded, c: Bounded) -> Bounded:
    """In the dtype where all three meet; its bound is that of the two operations."""
    dtype = common_dtype(common_dtype(a.dtype, b.dtype), c.dtype)
    return binary("add", binary("mul", cast(a, dtype), cast(b, dtype)), cast(c, dtype))


def bitcast(x: Bounded, dtype: tw.DType) -> Bounded:
    """Known where the bits are."""
    bits = x.value.astype(to_numpy_dtype(x.dtype)).view(to_numpy_dtype(dtype))
    known = (x.error == 0) & (np.isfinite(bits) if dtype in EPSILON else True)
    wide = bits.astype(np.float64) if dtype in EPSILON else bits
    return Bounded(dtype, np.where(known, wide, 1), np.where(known, 0, UNKNOWN))


def count_bits(name: str, x: Bounded) -> Bounded:
    """`popcount` or `clz`, in the operand's dtype."""
    width = 8 * x.value.itemsize
    bits = x.value.view(f"u{x.value.itemsize}")
    ones = np.stack([(bits >> bits.dtype.type(i)) & bits.dtype.type(1) for i in range(width)])
    if name == "popcount":
        count = ones.sum(axis=0)
    else:
        count = np.where(ones.any(axis=0), np.argmax(ones[::-1], axis=0), width)
    return Bounded(x.dtype, np.asarray(count).astype(x.value.dtype), x.error)


def shift(op: str, a: Bounded, b: Bounded) -> Bounded:
    """An amount out of range shifts everything out."""
    a, b = meet(a, b)
    width = 8 * a.value.itemsize
    inside = (b.value >= 0) & (b.value < width)
    amount = np.where(inside, b.value, 0).astype(a.value.dtype)
    if op == "shift_left":
        value, outside = np.left_shift(a.value, amount), np.zeros_like(a.value)
    else:
        value = np.right_shift(a.value, amount)
        outside = np.where(a.value < 0, -1, 0).astype(a.value.dtype)
    return Bounded(a.dtype, np.where(inside, value, outside), a.error + b.error)


def invert(x: Bounded) -> Bounded:
    return Bounded(x.dtype, ~x.value, x.error)


def meet(a: Bounded, b: Bounded) -> tuple[Bounded, Bounded]:
    dtype = common_dtype(a.dtype, b.dtype)
    return cast(a, dtype), cast(b, dtype)


def binary(op: str, a: Bounded, b: Bounded) -> Bounded:
    """`op` by its name in the table, with the operands widened to where they meet."""
    a, b = meet(a, b)
    if op in ("shift_left", "shift_right"):
        return shift(op, a, b)
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
