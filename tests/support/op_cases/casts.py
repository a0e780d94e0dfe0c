"""Casts between all pairs of dtypes: a case per source dtype and kind of result."""

import numpy as np
import tilewire as tw
from tilewire.types import to_numpy_dtype

from op_cases.case import ALL, FP8, INTEGERS, op_case


def to_integer(x: np.ndarray, dtype: tw.DType) -> np.ndarray:
    """Towards zero, saturating; NaN is 0. Integers wrap."""
    if x.dtype.kind != "f":
        return x
    info = np.iinfo(to_numpy_dtype(dtype))
    inside = np.clip(np.trunc(np.nan_to_num(x, nan=0.0)), float(info.min), float(info.max))
    made = inside.astype(np.int64 if info.min < 0 else np.uint64)
    made = np.where(inside >= float(info.max), info.max, made)
    return np.where(inside <= float(info.min), info.min, made)


def specials(make):
    """Of any bits for the dtypes of 8 bits; floats with NaN, infinities and halves among them."""
    if make.dtype in FP8:
        return make.every_bit_pattern()
    made = make.values()
    if make.dtype in INTEGERS or make.dtype == tw.bool:
        return made
    special = [0.5, -0.5, 1.5, 2.5, -2.5, np.nan, np.inf, -np.inf, 300.0, -300.0, 1e-3, 0.0]
    flat = made.reshape(-1)
    flat[: len(special)] = special[: len(flat)]
    return made


def cast_case(result: tw.DType, reference):
    """From every dtype; to its own, which is no cast, last."""
    dtypes = (*(each for each in ALL if each != result), result)
    return op_case(
        "cast",
        name=f"cast_to_{result.name}",
        inputs=lambda make: {"x": specials(make), "y": make.output(dtype=result)},
        reference=reference,
        constants={"TO": result},
        tolerance=0,
        dtypes=dtypes,
    )


@tw.kernel
def cast_rows(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const, TO: tw.const):
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(x[row, :]).to(TO))


for _result in (tw.f32, tw.bf16, tw.f16, tw.f64, tw.e4m3, tw.e5m2):
    cast_case(_result, lambda x: x)(cast_rows)
for _result in INTEGERS:
    cast_case(_result, lambda x, TO: to_integer(x, TO))(cast_rows)
cast_case(tw.bool, lambda x: x != 0)(cast_rows)
