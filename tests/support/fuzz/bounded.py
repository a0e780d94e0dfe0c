"""Arrays that know how wrong they may be: a float64 value with an error bound per element, or an
integer or bool that is known or not. What depends on an unknown element is unknown, and isn't
compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import tilewire as tw
from op_cases.case import FP8, INTEGERS, UNSIGNED
from op_cases.compare import EPSILON, rounded
from tilewire.types import to_numpy_dtype

FLOATS = (tw.f16, tw.bf16, tw.f32, tw.f64)
# The least a rounding may lose, subnormal results flushed to zero included.
TINY = {tw.f64: 2.0**-1022, tw.f32: 2.0**-126, tw.bf16: 2.0**-126, tw.f16: 2.0**-14}
TINY.update({tw.e4m3: 2.0**-9, tw.e5m2: 2.0**-16})
LARGEST = {each: float(ml_dtypes.finfo(to_numpy_dtype(each)).max) for each in (*FLOATS, *FP8)}
FUNCTION_ULPS = 8
UNKNOWN = np.inf


@dataclass(frozen=True)
class Bounded:
    dtype: tw.DType
    value: np.ndarray
    """float64 for floats, else of the dtype itself."""
    error: np.ndarray
    """float64; of integers and bools 0 or infinite."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def is_float(self) -> bool:
        return self.dtype in EPSILON

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> Bounded:
        """Moves elements about: the same function of value and error."""
        return Bounded(self.dtype, function(self.value), function(self.error))


def exact(values: np.ndarray, dtype: tw.DType) -> Bounded:
    wide = values.astype(np.float64) if dtype in EPSILON else values.astype(to_numpy_dtype(dtype))
    return Bounded(dtype, wide, np.zeros(wide.shape))


def common_dtype(a: tw.DType, b: tw.DType) -> tw.DType:
    """Where two operands meet; docs/language.md has it as a table."""
    if a == b:
        return tw.f32 if a in FP8 else a
    floats = [each for each in (a, b) if each in EPSILON]
    if len(floats) == 1:
        return tw.f32 if floats[0] in FP8 else floats[0]
    sizes = [to_numpy_dtype(each).itemsize for each in (a, b)]
    if floats:
        if sizes[0] == sizes[1]:
            return tw.f32
        return a if sizes[0] > sizes[1] else b
    if tw.bool in (a, b):
        return b if a == tw.bool else a
    if (a in UNSIGNED) == (b in UNSIGNED):
        return a if sizes[0] > sizes[1] else b
    unsigned, signed = (sizes[0], sizes[1]) if a in UNSIGNED else (sizes[1], sizes[0])
    return {1: tw.i8, 2: tw.i16, 4: tw.i32, 8: tw.i64}[min(8, max(signed, 2 * unsigned))]


def finish(value: np.ndarray, error: np.ndarray, dtype: tw.DType, ulps: float = 1) -> Bounded:
    """A result of `dtype` after one rounding of `ulps`."""
    with np.errstate(all="ignore"):
        error = error + ulps * EPSILON[dtype] * np.abs(value) + TINY[dtype]
        fits = np.isfinite(value) & (np.abs(value) + error < LARGEST[dtype])
    return Bounded(dtype, np.where(fits, value, 1.0), np.where(fits, error, UNKNOWN))


def monotone(
    x: Bounded, function: Callable[[np.ndarray], np.ndarray], dtype: tw.DType, ulps: float = 1
) -> Bounded:
    with np.errstate(all="ignore"):
        value = function(x.value)
        spread = [np.abs(function(x.value + sign * x.error) - value) for sign in (-1, 1)]
    error = np.where(np.isfinite(x.error), np.maximum(*spread), UNKNOWN)
    return finish(value, np.nan_to_num(error, nan=UNKNOWN, posinf=UNKNOWN), dtype, ulps)


def cast(x: Bounded, dtype: tw.DType) -> Bounded:
    if x.dtype == dtype:
        return x
    if dtype == tw.bool:
        known = np.abs(x.value) > x.error if x.is_float else x.error == 0
        known = known | (x.error == 0)
        return Bounded(dtype, x.value != 0, np.where(known, 0, UNKNOWN))
    if not x.is_float and dtype in INTEGERS:
        return Bounded(dtype, x.value.astype(to_numpy_dtype(dtype)), x.error)
    if dtype in INTEGERS:
        return _float_to_integer(x, dtype)
    if not x.is_float:
        value = x.value.astype(np.float64)
        return cast_float(Bounded(tw.f64, value, x.error), dtype, np.abs(value) > 2.0**24)
    return cast_float(x, dtype)


def cast_float(x: Bounded, dtype: tw.DType, rounds: np.ndarray | bool = False) -> Bounded:
    """`rounds`: where another rounding may come first."""
    store = to_numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        value = rounded(x.value, store).astype(np.float64)
        spread = [
            np.abs(rounded(x.value + sign * x.error, store).astype(np.float64) - value)
            for sign in (-1, 1)
        ]
        error = np.maximum(*spread) + np.where(rounds, EPSILON[dtype] * np.abs(value), 0)
        error = np.where(x.error > 0, error + TINY[dtype], error)
        fits = np.isfinite(x.error) & np.isfinite(value) & np.isfinite(error)
    return Bounded(dtype, np.where(fits, value, 1.0), np.where(fits, error, UNKNOWN))


def _float_to_integer(x: Bounded, dtype: tw.DType) -> Bounded:
    info = np.iinfo(to_numpy_dtype(dtype))

    def convert(values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.clip(np.trunc(values), float(info.min), float(info.max))

    finite = np.where(np.isfinite(x.error), x.error, 0)
    low, high = convert(x.value - finite), convert(x.value + finite)
    # Beyond 2**53 a float64 can't tell neighbours apart.
    known = np.isfinite(x.error) & (low == high) & (np.abs(x.value) < 2.0**53)
    value = np.where(known, low, 0).astype(to_numpy_dtype(dtype))
    return Bounded(dtype, value, np.where(known, 0, UNKNOWN))


def where(condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    dtype = common_dtype(a.dtype, b.dtype) if a.dtype != b.dtype else a.dtype
    a, b = cast(a, dtype), cast(b, dtype)
    value = np.where(condition.value, a.value, b.value)
    error = np.where(condition.value, a.error, b.error)
    return Bounded(dtype, value, error + condition.error)


def reduce(op: str, x: Bounded, axis: int | None, result: tw.DType) -> Bounded:
    """`sum` in `result`, which is its dtype; `max` and `min` keep theirs."""
    if op != "sum":
        function = np.max if op == "max" else np.min
        value, error = function(x.value, axis=axis), np.max(x.error, axis=axis)
        return Bounded(x.dtype, np.asarray(value), np.asarray(error))
    error = np.asarray(np.sum(x.error, axis=axis))
    if not x.is_float:
        value = np.sum(x.value, axis=axis, dtype=to_numpy_dtype(result))
        return Bounded(result, np.asarray(value), error)
    count = x.value.size if axis is None else x.value.shape[axis]
    with np.errstate(all="ignore"):
        error = error + count * EPSILON[result] * np.sum(np.abs(x.value), axis=axis)
    return finish(np.asarray(np.sum(x.value, axis=axis)), np.asarray(error), result)
