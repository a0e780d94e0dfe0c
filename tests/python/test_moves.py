"""Ops that move a tile's elements or combine them in order, on the CPU against NumPy."""

import numpy as np
import pytest
import tilewire as tw


@pytest.fixture(scope="module", autouse=True)
def world():
    return tw.init(virtual="1")


@tw.kernel
def count(x: tw.Tensor["M", "N"], y: tw.Tensor["B"], *, M: tw.const, N: tw.const, B: tw.const):
    tw.store(y[:], tw.histogram(tw.load(x[:, :]) - 3, B))


@pytest.mark.parametrize("bins", [1, 20, 300])
def test_histogram_leaves_out_what_has_no_bin(bins):
    x = np.random.default_rng(0).integers(-5, 30, (7, 33)).astype(np.int32)
    y = np.full(bins, -1, np.int32)
    count[1](x, y)
    inside = (x - 3)[(x >= 3) & (x - 3 < bins)]
    np.testing.assert_array_equal(y, np.bincount(inside, minlength=bins))


def test_histogram_takes_integers(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.histogram(tw.load(x[:]), 4)  # error

    message, _ = diagnose(f, x="f32[8]")
    assert message == "histogram: counts integers, found tile<f32[8]>: cast to tw.i32"
