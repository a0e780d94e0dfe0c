"""Arithmetic, comparison, logic and mathematical functions, element by element."""

import math

import numpy as np
import tilewire as tw

from op_cases.case import FLOATS, INTEGERS, NUMBERS, SIGNED, Maker, op_case
from op_cases.templates import binary, unary

BITS = (*INTEGERS, tw.bool)


def is_unsigned(make: Maker) -> bool:
    return make.dtype in INTEGERS and make.dtype not in SIGNED


def few(make: Maker) -> np.ndarray:
    """Few different values of the case's dtype, so that pairs are often equal."""
    low = 0 if is_unsigned(make) else -3
    made = make.random.integers(low, 3, make.shape, endpoint=True)
    output = make.values()
    output[...] = made
    return output


def with_nan(make: Maker) -> np.ndarray:
    made = few(make)
    if make.dtype in FLOATS:
        made.reshape(-1)[::3] = np.nan
    return made


def divisors(make: Maker) -> np.ndarray:
    """Of both signs, not 0."""
    made = make.values(low=1, high=9)
    if not is_unsigned(make):
        made[...] = np.where(make.random.integers(0, 2, make.shape), made, -made.astype(made.dtype))
    return made


def whole(make: Maker) -> np.ndarray:
    """Floats of small whole numbers, so that quotients near an integer don't depend on rounding."""
    made = make.values()
    if make.dtype in FLOATS:
        made[...] = make.random.integers(-40, 40, make.shape)
    return made


binary("add", "a + b", np.add, dtypes=NUMBERS)
binary("sub", "a - b", np.subtract, dtypes=NUMBERS)
binary("mul", "a * b", np.multiply, dtypes=NUMBERS)
binary("div", "a / b", np.divide, right=divisors, tolerance={tw.f32: 2})
binary("floordiv", "a // b", np.floor_divide, values=whole, right=divisors, dtypes=INTEGERS)
binary("mod", "a % b", np.mod, values=whole, right=divisors, dtypes=INTEGERS)
binary("minimum", "tw.minimum(a, b)", np.minimum, values=with_nan, dtypes=NUMBERS)
binary("maximum", "tw.maximum(a, b)", np.maximum, values=with_nan, dtypes=NUMBERS)
binary("and", "a & b", np.bitwise_and, dtypes=BITS)
binary("or", "a | b", np.bitwise_or, dtypes=BITS)
binary("xor", "a ^ b", np.bitwise_xor, dtypes=BITS)
for _op, _sign, _reference in (
    ("eq", "==", np.equal),
    ("ne", "!=", np.not_equal),
    ("lt", "<", np.less),
    ("le", "<=", np.less_equal),
    ("gt", ">", np.greater),
    ("ge", ">=", np.greater_equal),
):
    binary(
        _op, f"a {_sign} b", _reference, values=with_nan, right=few, result=tw.bool, dtypes=NUMBERS
    )

_erf = np.vectorize(math.erf, otypes=[np.float64])
unary("neg", "-a", np.negative, dtypes=(*FLOATS, *SIGNED))
unary("not", "~a", np.invert, dtypes=BITS)
unary("abs", "tw.abs(a)", np.abs, dtypes=(*FLOATS, *SIGNED))
unary("floor", "tw.floor(a)", np.floor, values=lambda make: make.values(low=-9, high=9))
unary("ceil", "tw.ceil(a)", np.ceil, values=lambda make: make.values(low=-9, high=9))
unary("exp", "tw.exp(a)", np.exp, tolerance={tw.f32: 4, tw.f64: 4})
unary("exp2", "tw.exp2(a)", np.exp2, tolerance={tw.f32: 4, tw.f64: 4})


def positive(make: Maker) -> np.ndarray:
    return make.values(low=0.01, high=90)


# Near 1 a logarithm is the difference of almost equal numbers: an absolute error.
unary("log", "tw.log(a)", np.log, values=positive, tolerance=4, absolute=1)
unary("log2", "tw.log2(a)", np.log2, values=positive, tolerance=4, absolute=1)
unary("sqrt", "tw.sqrt(a)", np.sqrt, values=positive, tolerance={tw.f32: 2, tw.f64: 2})
unary("rsqrt", "tw.rsqrt(a)", lambda x: 1 / np.sqrt(x), values=positive, tolerance={tw.f32: 4})
unary("tanh", "tw.tanh(a)", np.tanh, tolerance={tw.f32: 8, tw.f64: 8})
unary("erf", "tw.erf(a)", _erf, tolerance={tw.f32: 8, tw.f64: 8})
unary("sigmoid", "tw.sigmoid(a)", lambda x: 1 / (1 + np.exp(-x)), tolerance={tw.f32: 8, tw.f64: 8})


@op_case(
    "select",
    inputs=lambda make: {"x": few(make), "y": make.values(), "z": make.output()},
    reference=lambda x, y: np.where(x > 0, x, y),
    dtypes=NUMBERS,
)
@tw.kernel
def positive_or_other(
    x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], z: tw.Tensor["T", "H"], *, H: tw.const
):
    for row in tw.persistent(T):
        a = tw.load(x[row, :])
        tw.store(z[row, :], tw.where(a > 0, a, tw.load(y[row, :])))
