"""Random element-wise and reducing kernels on the CPU against NumPy in float64."""

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewire.types import to_numpy_dtype

# The unit roundoff of each dtype; results are computed in f32 or wider and rounded once.
ROUNDOFF = {tw.bf16: 2.0**-8, tw.f16: 2.0**-11, tw.f32: 2.0**-20, tw.f64: 2.0**-40}
FLOATS = st.sampled_from(list(ROUNDOFF))
INTEGERS = st.sampled_from([tw.i8, tw.i16, tw.i32, tw.i64, tw.u8, tw.u16, tw.u32])
SHAPES = st.tuples(st.integers(0, 9), st.integers(1, 70))


@tw.kernel
def blend(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], out: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        a = tw.load(x[row, :]).to(tw.f64)
        b = tw.load(y[row, :]).to(tw.f64)
        chosen = tw.where((a > b) & (b < 0.5), tw.maximum(a, -b), tw.minimum(a * 0.5, b + 1))
        tw.store(out[row, :], chosen - tw.abs(a))


@tw.kernel
def row_statistics(x: tw.Tensor["T", "H"], out: tw.Tensor["T", 3], *, H: tw.const):
    for row in tw.persistent(T):
        a = tw.load(x[row, :])
        tw.store(out[row, 0], tw.sum(a))
        tw.store(out[row, 1], tw.max(a))
        tw.store(out[row, 2], tw.min(a))


@tw.kernel
def column_sums(x: tw.Tensor["T", "H"], out: tw.Tensor["H"], *, B: tw.const, C: tw.const):
    for block in tw.persistent(tw.cdiv(H, C)):
        acc = tw.zeros((C,), tw.f64)
        for start in range(0, T, B):
            acc += tw.sum(tw.load(x[tw.ds(start, B), tw.ds(block * C, C)]).to(tw.f64), axis=0)
        tw.store(out[tw.ds(block * C, C)], acc)


@tw.kernel
def integer_arithmetic(x: tw.Tensor["N"], y: tw.Tensor["N"], out: tw.Tensor["N"], *, B: tw.const):
    for block in tw.persistent(tw.cdiv(N, B)):
        a = tw.load(x[tw.ds(block * B, B)])
        b = tw.load(y[tw.ds(block * B, B)], other=1)
        tw.store(out[tw.ds(block * B, B)], (a // b) * 3 + a % b - (a & b))


def floats(rng, dtype, shape):
    return rng.standard_normal(shape).astype(to_numpy_dtype(dtype))


@settings(max_examples=25, deadline=None)
@given(FLOATS, SHAPES, st.integers(0, 2**32 - 1), st.sampled_from([1, 3, tw.auto]))
def test_elementwise(dtype, shape, seed, grid):
    rng = np.random.default_rng(seed)
    x, y = floats(rng, dtype, shape), floats(rng, dtype, shape)
    out = np.full(shape, np.nan, x.dtype)
    blend[grid](x, y, out)
    a, b = x.astype(np.float64), y.astype(np.float64)
    expected = np.where((a > b) & (b < 0.5), np.maximum(a, -b), np.minimum(a * 0.5, b + 1))
    np.testing.assert_array_equal(out, (expected - np.abs(a)).astype(x.dtype))


@settings(max_examples=25, deadline=None)
@given(FLOATS, SHAPES, st.integers(0, 2**32 - 1))
def test_reductions(dtype, shape, seed):
    x = floats(np.random.default_rng(seed), dtype, shape)
    out = np.full((shape[0], 3), np.nan, np.float64)
    row_statistics[tw.auto](x, out)
    wide = x.astype(np.float64)
    scale = np.abs(wide).sum(axis=1)
    bound = (2.0**-40 if dtype == tw.f64 else 2.0**-20) * np.maximum(scale, 1e-30)
    assert (np.abs(out[:, 0] - wide.sum(axis=1)) <= bound).all()
    np.testing.assert_array_equal(out[:, 1], wide.max(axis=1))
    np.testing.assert_array_equal(out[:, 2], wide.min(axis=1))


@settings(max_examples=25, deadline=None)
@given(
    FLOATS,
    st.tuples(st.integers(0, 40), st.integers(0, 40)),
    st.sampled_from([1, 4, 7]),
    st.sampled_from([1, 8, 13]),
    st.integers(0, 2**32 - 1),
)
def test_blocks_that_do_not_divide(dtype, shape, rows, columns, seed):
    x = floats(np.random.default_rng(seed), dtype, shape)
    out = np.full(shape[1], np.nan, np.float64)
    column_sums[tw.auto](x, out, B=rows, C=columns)
    np.testing.assert_allclose(out, x.astype(np.float64).sum(axis=0), rtol=1e-12, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(INTEGERS, st.integers(0, 50), st.sampled_from([1, 8, 11]), st.integers(0, 2**32 - 1))
def test_integers(dtype, size, block, seed):
    rng = np.random.default_rng(seed)
    info = np.iinfo(to_numpy_dtype(dtype))
    low, high = max(info.min, -100), min(info.max, 100)
    x = rng.integers(low, high, size, dtype=info.dtype)
    y = rng.integers(1, high, size, dtype=info.dtype)
    y = np.where(rng.integers(0, 2, size).astype(bool) & (info.min < 0), -y, y).astype(info.dtype)
    out = np.zeros(size, info.dtype)
    integer_arithmetic[tw.auto](x, y, out, B=block)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, (x // y) * info.dtype.type(3) + x % y - (x & y))


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(3)), st.booleans(), st.integers(0, 2**32 - 1))
def test_strides_of_any_kind(order, reverse, seed):
    base = np.random.default_rng(seed).standard_normal((6, 10, 4)).astype(np.float32)
    view = base.transpose(order)[1:, ::2, 0]
    view = view[::-1] if reverse else view
    out = np.full(view.shape, np.nan, np.float32)
    blend[tw.auto](view, view, out)
    a = view.astype(np.float64)
    expected = np.where((a > a) & (a < 0.5), a, np.minimum(a * 0.5, a + 1)) - np.abs(a)
    np.testing.assert_array_equal(out, expected.astype(np.float32))


@pytest.mark.parametrize("bits", [0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x8000])
def test_special_values_pass_through(bits):
    x = np.full((1, 8), bits, np.uint16).view(ml_dtypes.bfloat16)
    out = np.zeros((1, 3), np.float32)
    row_statistics[1](x, out)
    value = float(x[0, 0])
    np.testing.assert_array_equal(out[0, 1:], np.float32([value, value]))
