"""A tile of no dimensions is a scalar: it begins sums whose dtype comes from the call."""

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def running_sum(x: tw.Tensor["N"], y: tw.Tensor["N"], *, B: tw.const):
    carry = tw.zeros((), x.dtype)
    for start in range(0, N, B):
        sums = tw.cumsum(tw.load(x[tw.ds(start, B)])) + carry
        tw.store(y[tw.ds(start, B)], sums)
        carry = sums[B - 1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint64"])
@pytest.mark.parametrize("size", [0, 1, 63, 1000])
def test_sum_in_the_dtype_of_the_call(dtype, size):
    x = np.random.default_rng(0).integers(0, 9, size).astype(dtype)
    y = np.full(size, 77, dtype)
    running_sum[1](x, y, B=7)
    assert (y == np.cumsum(x)).all()


def test_full_of_rank_zero():
    @tw.kernel
    def f(y: tw.Tensor[2]):
        assert tw.full((), 3, tw.f16).dtype == tw.f16
        tw.store(y[0], tw.full((), 3, tw.f16))
        tw.store(y[1], tw.full((), tw.load(y[0]) + 1, tw.i32))

    y = np.full(2, np.nan, np.float32)
    f[1](y)
    assert y.tolist() == [3, 4]
