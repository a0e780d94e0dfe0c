"""What the compiler computes of constants is what the kernel would have computed, to the bit."""

import re

import numpy as np
import pytest
import tilewire as tw
from kernel_source import kernel_of_source
from tilewire.types import to_numpy_dtype

COUNT = 12
SOURCE = """\
@tw.kernel
def {name}(x: tw.Tensor[3, {count}], y: tw.Tensor[2, {count}], *, P: tw.const, FROM: tw.const,
           DTYPE: tw.const):
    for i in tw.unroll({count}):
        a = tw.bitcast(tw.cast(P[3 * i], FROM), DTYPE)
        b = tw.bitcast(tw.cast(P[3 * i + 1], FROM), DTYPE)
        c = tw.bitcast(tw.cast(P[3 * i + 2], FROM), DTYPE)
        tw.store(y[0, i], {expression})
    for i in tw.unroll({count}):
        a = tw.load(x[0, i])
        b = tw.load(x[1, i])
        c = tw.load(x[2, i])
        tw.store(y[1, i], {expression})
"""
INTEGERS = (tw.i8, tw.i16, tw.i32, tw.i64, tw.u8, tw.u16, tw.u32, tw.u64)
FLOATS = (tw.bf16, tw.f32, tw.f64)
OF_INTEGERS = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "floordiv": "a // b",
    "mod": "a % b",
    "minimum": "tw.minimum(a, b)",
    "maximum": "tw.maximum(a, b)",
    "xor": "(a & b) ^ (a | c)",
    "shift_left": "a << b",
    "shift_right": "a >> (b & 7)",
    "not": "~a",
    "neg": "-a",
    "abs": "tw.abs(a)",
    "popcount": "tw.popcount(a)",
    "clz": "tw.clz(a)",
    "lt": "tw.where(a < b, a, c)",
    "philox": "tw.philox(a, b, c)[2].to(DTYPE)",
}
OF_FLOATS = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "a / b",
    "fma": "tw.fma(a, b, c)",
    "minimum": "tw.minimum(a, b)",
    "maximum": "tw.clamp(a, b, c)",
    "round": "tw.round(a)",
    "trunc": "tw.trunc(a)",
    "floor": "tw.floor(a)",
    "ceil": "tw.ceil(a)",
    "neg": "-a",
    "abs": "tw.abs(a)",
    "le": "tw.where(a <= b, a, c)",
    "cast": "tw.cast(a, tw.f32).to(tw.bf16).to(DTYPE)",
    "bitcast": "tw.cast(tw.cast(a, tw.i32), DTYPE)",
    "isnan": "tw.where(tw.isnan(a), b, c)",
    "isinf": "tw.where(tw.isinf(a), b, c)",
}
RUNS = [(op, dtype) for op in OF_INTEGERS for dtype in INTEGERS]
RUNS += [(op, dtype) for op in OF_FLOATS for dtype in FLOATS]
SIGNED_OF_WIDTH = {1: tw.i8, 2: tw.i16, 4: tw.i32, 8: tw.i64}


def operands(dtype, generator):
    """Random numbers, and some of the special ones; [3, COUNT]."""
    numpy_dtype = to_numpy_dtype(dtype)
    if dtype in INTEGERS:
        info = np.iinfo(numpy_dtype)
        x = generator.integers(info.min, info.max, (3, COUNT), numpy_dtype, endpoint=True)
        x[:, :4] = generator.choice([0, 1, info.min, info.max, 3, 9], (3, 4)).astype(numpy_dtype)
        return x
    x = (generator.standard_normal((3, COUNT)) * 10).astype(numpy_dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 2.5, -1.5, 1e-40, 3e38]
    x[:, :6] = generator.choice(special, (3, 6)).astype(numpy_dtype)
    return x


@pytest.mark.parametrize(("op", "dtype"), RUNS, ids=lambda each: getattr(each, "name", each))
def test_folding_is_running(op, dtype):
    expression = (OF_INTEGERS if dtype in INTEGERS else OF_FLOATS)[op]
    source = SOURCE.format(name=f"fold_{op}", count=COUNT, expression=expression)
    kernel = kernel_of_source(source, f"fold_{op}", f"fold_{op}.py")
    x = operands(dtype, np.random.default_rng([len(op), *op.encode(), *dtype.name.encode()]))
    bits = x.view(f"i{x.itemsize}").T.ravel()
    y = np.full((2, COUNT), 77, x.dtype)
    constants = {
        "P": tuple(int(each) for each in bits),
        "FROM": SIGNED_OF_WIDTH[x.itemsize],
        "DTYPE": dtype,
    }
    kernel[1](x, y, **constants)
    wide = y.astype(np.float64) if dtype in FLOATS else y
    np.testing.assert_array_equal(wide[0], wide[1])
    if dtype in FLOATS:
        number = ~np.isnan(wide[0])
        np.testing.assert_array_equal(np.signbit(wide[0][number]), np.signbit(wide[1][number]))


@pytest.mark.parametrize("op", sorted({*OF_INTEGERS} - {"add", "mul"}))
def test_integers_fold_away(op, emitted):
    """The op is left only in the half that works on loaded values (add and mul: in addresses)."""
    source = SOURCE.format(name=f"folded_{op}", count=COUNT, expression=OF_INTEGERS[op])
    kernel = kernel_of_source(source, f"folded_{op}", f"folded_{op}.py")
    arguments = {"x": f"i32[3, {COUNT}]", "y": f"i32[2, {COUNT}]", "FROM": tw.i32, "DTYPE": tw.i32}
    lowered = emitted(kernel, "cpu", "lowered", P=tuple(range(5, 5 + 3 * COUNT)), **arguments)
    assert len(re.findall(rf"= {op}\(", lowered)) == COUNT
