"""Casts between floats with `rounding=` and `saturate=`."""

import numpy as np
import tilewire as tw

from op_cases.case import FLOATS, op_case

# Bits of the mantissa, exponent of the smallest normal number, largest number, infinity.
FORMATS = {
    tw.f32: (23, -126, float(np.finfo(np.float32).max), np.inf),
    tw.bf16: (7, -126, float(np.ldexp(255, 120)), np.inf),
    tw.f16: (10, -14, 65504.0, np.inf),
    tw.e5m2: (2, -14, 57344.0, np.inf),
    tw.e4m3: (3, -6, 448.0, np.nan),
}
WHOLE = {"nearest": np.rint, "toward_zero": np.trunc, "up": np.ceil, "down": np.floor}


def rounded(x, to, rounding, saturate):
    """By the definition: a whole number of units in the last place, in f64."""
    mantissa_bits, smallest, largest, beyond = FORMATS[to]
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
    unit = np.maximum(exponent - 1, smallest) - mantissa_bits
    made = np.ldexp(WHOLE[rounding](np.ldexp(x, -unit)), unit)
    sign = np.sign(x)
    leads_back = (rounding == "toward_zero") | ((sign > 0) == (rounding == "down"))
    leads_back &= np.isfinite(x) & (rounding != "nearest")
    limit = np.where(saturate | leads_back, largest, beyond)
    return np.where(np.abs(made) > largest, sign * limit, made)


def edges(make):
    """All sizes: subnormal numbers of every format, the largest, beyond, halfway."""
    exponents = make.random.uniform(-30, 20, make.shape)
    made = make.values()
    made[...] = np.exp2(exponents) * np.where(make.random.integers(0, 2, make.shape), 1, -1)
    special = [
        *(np.nan, np.inf, -np.inf, 0.0, -0.0, 448.0, 464.0, 465.0, -480.0, 61440.0, 65520.0),
        *(2.0**-10, -(2.0**-10), 1.0625, -1.0625, 2.0**-17, 3e38, -3e38, 3.4e38),
    ]
    flat = made.reshape(-1)
    flat[-1] = 1.0
    with np.errstate(over="ignore"):
        flat[: len(special)] = special[: len(flat)]
    return made


def directed_case(to, rounding, saturate):
    name = (
        f"cast_to_{to.name}_{rounding}"
        + {None: "", True: "_saturated", False: "_unsaturated"}[saturate]
    )
    saturates = (to == tw.e4m3) if saturate is None else saturate
    return op_case(
        "cast",
        name=name,
        inputs=lambda make: {"x": edges(make), "y": make.output(dtype=to)},
        reference=lambda x: rounded(x, to, rounding, saturates),
        constants={"TO": to, "ROUNDING": rounding, "SATURATE": saturates},
        dtypes=tuple(each for each in FLOATS if each != to),
        tolerance=0,
    )


@tw.kernel
def cast_rows_in_a_direction(
    x: tw.Tensor["T", "H"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
    TO: tw.const,
    ROUNDING: tw.const,
    SATURATE: tw.const,
):
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.cast(tw.load(x[row, :]), TO, ROUNDING, SATURATE))


for _to in (tw.e4m3, tw.e5m2, tw.f16, tw.bf16, tw.f32):
    for _rounding in ("toward_zero", "up", "down"):
        directed_case(_to, _rounding, None)(cast_rows_in_a_direction)
directed_case(tw.e4m3, "nearest", False)(cast_rows_in_a_direction)
directed_case(tw.e4m3, "up", False)(cast_rows_in_a_direction)
for _to in (tw.e5m2, tw.f16, tw.bf16):
    directed_case(_to, "nearest", True)(cast_rows_in_a_direction)
    directed_case(_to, "down", True)(cast_rows_in_a_direction)
