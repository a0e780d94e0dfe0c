"""The CPU target's functions over all of f32: at most 2 units in the last place from float64."""

import math

import numpy as np
import pytest
import tilewire as tw
from kernel_source import kernel_of_source

SOURCE = """\
@tw.kernel
def {name}(x: tw.Tensor["N"], y: tw.Tensor["N"], *, B: tw.const = 4096):
    for block in tw.persistent(tw.cdiv(N, B)):
        tw.store(y[tw.ds(block * B, B)], tw.{name}(tw.load(x[tw.ds(block * B, B)])))
"""


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


REFERENCES = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sigmoid": sigmoid,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
}
SMALLEST_NORMAL = 2.0**-126


def inputs():
    """Bit patterns of all of f32, a prime apart; every power of 2 and its neighbours; specials."""
    spread = np.arange(0, 2**32, 39989, dtype=np.uint64).astype(np.uint32)
    powers = np.arange(0, 256, dtype=np.uint32) << 23
    near = np.concatenate([powers, powers + 1, powers - 1, powers | 0x80000000])
    special = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 88.7228, -87.3366, 0.5, -0.5])
    moderate = np.random.default_rng(5).standard_normal(100000).astype(np.float32) * 4
    return np.concatenate([spread.view(np.float32), near.view(np.float32), special, moderate])


def unit_in_the_last_place(exact):
    """Of f32, at a float64."""
    _, exponent = np.frexp(np.maximum(np.abs(exact), SMALLEST_NORMAL))
    return np.ldexp(1.0, exponent - 24)


@pytest.mark.parametrize("name", REFERENCES)
def test_f32(name):
    x = inputs()
    y = np.full_like(x, 7.0)
    kernel_of_source(SOURCE.format(name=name), name, f"{name}.py")[tw.auto](x, y)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](x.astype(np.float64))
        rounded = exact.astype(np.float32)
        error = np.abs(y - exact) / unit_in_the_last_place(exact)
    same = (y == rounded) | (np.isnan(y) & np.isnan(rounded))
    # Where the exact result is just below what rounds to infinity, infinity is one unit away.
    beyond = np.isinf(y) & (np.abs(exact) > 3.402823e38) & (np.signbit(y) == np.signbit(exact))
    wrong = ~(same | beyond | (error <= 2.0))
    assert not wrong.any(), f"{name}({x[wrong][0]!r}) = {y[wrong][0]!r}, exact {exact[wrong][0]!r}"
    assert np.array_equal(np.signbit(y[y == 0]), np.signbit(rounded[y == 0])) or name == "exp2"


@tw.kernel
def together(x: tw.Tensor["N"], y: tw.Tensor["N"], z: tw.Tensor["N"], *, N: tw.const):
    t = tw.load(x[:])
    tw.store(y[:], tw.sin(t) * tw.cos(t))
    tw.store(z[:], 10.0**t + 2.0**t)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_llvm_makes_of_several_functions(dtype):
    """sin and cos of one number are one call; powers of 2 and 10 are functions of their own."""
    x = np.linspace(-2, 2, 37).astype(dtype)
    y, z = np.full_like(x, np.nan), np.full_like(x, np.nan)
    together[1](x, y, z)
    np.testing.assert_allclose(y, np.sin(x) * np.cos(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(z, 10.0**x + 2.0**x, rtol=1e-5)
