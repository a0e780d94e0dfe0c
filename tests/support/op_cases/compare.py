"""Whether an output is what the float64 reference says, rounded to the output's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilewire as tw
from tilewire.types import dtype_of_numpy

EPSILON = {
    tw.f64: 2.0**-52,
    tw.f32: 2.0**-23,
    tw.f16: 2.0**-10,
    tw.bf16: 2.0**-7,
    tw.e4m3: 2.0**-3,
    tw.e5m2: 2.0**-2,
}
# Half the distance of subnormal numbers: what rounding to a tiny result may lose.
SMALLEST = {
    tw.f64: 2.0**-1074,
    tw.f32: 2.0**-149,
    tw.f16: 2.0**-24,
    tw.bf16: 2.0**-133,
    tw.e4m3: 2.0**-9,
    tw.e5m2: 2.0**-16,
}
LARGEST_E4M3 = 448.0


def rounded(values: Any, numpy_dtype: np.dtype) -> np.ndarray:
    """`values` as the dtype stores them: to nearest even, e4m3 saturates, integers wrap."""
    values = np.asarray(values)
    if dtype_of_numpy(numpy_dtype) == tw.e4m3:
        values = np.clip(values, -LARGEST_E4M3, LARGEST_E4M3)  # NaN stays
    with np.errstate(all="ignore"):
        return values.astype(numpy_dtype)


def mismatch(got: np.ndarray, expected: Any, tolerance: float, absolute: float = 0) -> str:
    """Empty where all elements agree, else the worst one. Other dtypes than floats must be equal;
    `tolerance` and `absolute` are in units of the dtype's epsilon."""
    expected = np.broadcast_to(np.asarray(expected), got.shape)
    stored = rounded(expected, got.dtype)
    dtype = dtype_of_numpy(got.dtype)
    if dtype not in EPSILON:
        wrong = got != stored
        return report(wrong, wrong.astype(np.float64), got, stored)
    mine, theirs = got.astype(np.float64), stored.astype(np.float64)
    exact = expected.astype(np.float64)
    with np.errstate(all="ignore"):
        bound = EPSILON[dtype] * (tolerance * np.abs(exact) + absolute) + SMALLEST[dtype]
        error = np.minimum(np.abs(mine - exact), np.abs(mine - theirs))
        close = np.isfinite(mine) & np.isfinite(exact) & (error <= bound)
        badness = error / bound
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    return report(~(close | same), badness, got, stored)


def report(wrong: np.ndarray, badness: np.ndarray, got: np.ndarray, expected: np.ndarray) -> str:
    if not wrong.any():
        return ""
    worst = np.argmax(np.where(wrong, np.nan_to_num(badness, nan=np.inf), -1))
    place = np.unravel_index(worst, wrong.shape)
    index = ", ".join(str(int(each)) for each in place)
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ; at [{index}] got {got[place]!s}, "
        f"expected {expected[place]!s}"
    )
