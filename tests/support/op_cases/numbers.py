"""Shifts, bits, directed casts, random numbers and what the Builder composes of other ops."""

import numpy as np
import philox
import tilewire as tw
from tilewire.types import to_numpy_dtype

from op_cases.case import INTEGERS, UNSIGNED, op_case
from op_cases.templates import binary, unary


def amounts(make):
    """Within the width, at its edge, beyond it, and negative."""
    least = 0 if make.dtype in UNSIGNED else -2
    return make.values(low=least, high=8 * to_numpy_dtype(make.dtype).itemsize + 2)


def any_integers(make):
    info = np.iinfo(to_numpy_dtype(make.dtype))
    return make.values(low=info.min, high=info.max)


def shift(x, amount, towards):
    """Of exact integers: an amount out of range shifts everything out."""
    width = 8 * x.dtype.itemsize
    inside = (amount >= 0) & (amount.astype(np.int64) < width)
    by = np.where(inside, amount, 0).astype(x.dtype)
    if towards == "left":
        return np.where(inside, np.left_shift(x, by), 0)
    return np.where(inside, np.right_shift(x, by), np.where(x < 0, -1, 0).astype(x.dtype))


def popcount(x):
    return sum((x >> bit) & 1 for bit in range(8 * x.dtype.itemsize))


def leading_zeros(x):
    width = 8 * x.dtype.itemsize
    bits = x.view(f"u{x.dtype.itemsize}").reshape(-1)
    return np.reshape([width - int(each).bit_length() for each in bits], x.shape)


_INTEGER = {"values": any_integers, "dtypes": INTEGERS}
binary("shift_left", "a << b", lambda x, y: shift(x, y, "left"), right=amounts, **_INTEGER)
binary("shift_right", "a >> b", lambda x, y: shift(x, y, "right"), right=amounts, **_INTEGER)
unary("popcount", "tw.popcount(a)", popcount, **_INTEGER)
unary("clz", "tw.clz(a)", leading_zeros, **_INTEGER)

unary("round", "tw.round(a)", np.round, values=lambda make: make.values(low=-9, high=9))
unary("trunc", "tw.trunc(a)", np.trunc, values=lambda make: make.values(low=-9, high=9))
unary("sin", "tw.sin(a)", np.sin, tolerance={tw.f32: 2, tw.f64: 2}, absolute=1)
unary("cos", "tw.cos(a)", np.cos, tolerance={tw.f32: 2, tw.f64: 2}, absolute=1)
binary(
    "pow",
    "a ** b",
    np.power,
    values=lambda make: make.values(low=0.1, high=4),
    right=lambda make: make.values(low=-3, high=3),
    tolerance={tw.f32: 8, tw.f64: 4},
)
binary("fma", "tw.fma(a, b, a)", lambda x, y: x * y + x, absolute=1)


def clamp(x):
    return np.where(np.isnan(x), x, np.clip(x, -1, 0.5))


def specials(make):
    made = make.values(low=-3, high=3)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    flat = made.reshape(-1)
    flat[: len(special)] = special[: len(flat)]
    return made


unary("minimum", "tw.clamp(a, -1, 0.5)", clamp, values=specials, name="clamp_of_rows")
for _name, _reference in (("isnan", np.isnan), ("isinf", np.isinf)):
    unary(
        "ne" if _name == "isnan" else "eq",
        f"tw.{_name}(a)",
        _reference,
        values=specials,
        result=tw.bool,
        name=f"{_name}_of_rows",
    )


def any_bits(make):
    """Integers of any bits, 0 last; floats that are numbers, whose float64 has the same bits."""
    if make.dtype not in INTEGERS:
        return make.values()
    made = make.every_bit_pattern()
    made.reshape(-1)[-1] = 0
    return made


def bitcast_case(to, *sources):
    return op_case(
        "bitcast",
        name=f"bitcast_to_{to.name}",
        inputs=lambda make: {
            "x": any_bits(make),
            "y": make.output(dtype=to),
        },
        reference=lambda x, dtype: x.astype(to_numpy_dtype(dtype)).view(to_numpy_dtype(to)),
        constants={"TO": to},
        dtypes=sources,
        tolerance=0,
    )


@tw.kernel
def bitcast_rows(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const, TO: tw.const):
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.bitcast(tw.load(x[row, :]), TO))


for _to, *_sources in (
    (tw.u8, tw.e4m3, tw.e5m2, tw.i8), (tw.e4m3, tw.u8, tw.e5m2), (tw.e5m2, tw.i8),
    (tw.i16, tw.bf16, tw.f16, tw.u16), (tw.bf16, tw.u16, tw.f16), (tw.f16, tw.i16, tw.bf16),
    (tw.u32, tw.f32, tw.i32), (tw.f32, tw.u32, tw.i32), (tw.i64, tw.f64, tw.u64),
    (tw.f64, tw.u64, tw.i64),
):  # fmt: skip
    bitcast_case(_to, *_sources)(bitcast_rows)


@op_case(
    "philox",
    inputs=lambda make: {
        "counters": make.integers(0, 2**40, dtype=tw.u64),
        "words": make.output((4, *make.shape), tw.u32),
        "floats": make.output(dtype=tw.f32),
    },
    reference=lambda counters: {
        "words": philox.philox4x32(7 << 33 | 5, counters, 3),
        "floats": (philox.philox4x32(7 << 33 | 5, counters, 3)[0] >> 8) * 2.0**-24,
    },
    dtypes=(tw.u32,),
    tolerance=0,
)
@tw.kernel
def random_rows(
    counters: tw.Tensor["T", "H"],
    words: tw.Tensor[4, "T", "H"],
    floats: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    for row in tw.persistent(T):
        counter = tw.load(counters[row, :])
        block = tw.philox(7 << 33 | 5, counter, 3)
        for word in tw.unroll(4):
            tw.store(words[word, row, :], block[word])
        tw.store(floats[row, :], tw.uniform(7 << 33 | 5, counter, 3))
