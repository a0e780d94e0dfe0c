"""Tiles that are used several times in one loop: computed once there, and right everywhere."""

import numpy as np
import tilewire as tw

N = 37


@tw.kernel
def repeated_squares(x: tw.Tensor["N"], y: tw.Tensor["N"], *, N: tw.const, DEPTH: tw.const):
    a = tw.load(x[:])
    for _ in tw.unroll(DEPTH):
        a = (a * a + a) * 0.5
    tw.store(y[:], a)


def test_the_code_grows_with_the_program_not_with_its_paths(emitted):
    """Each level uses the last one three times: 3**40 uses of the first."""
    sizes = [
        len(emitted(repeated_squares, "cpu", "llvm", x="f32[37]", y="f32[37]", N=N, DEPTH=depth))
        for depth in (20, 40)
    ]
    assert sizes[1] < 3 * sizes[0]
    x = np.linspace(-1, 1, N, dtype=np.float32)
    y = np.zeros_like(x)
    repeated_squares[1](x, y, DEPTH=40)
    expected = x
    for _ in range(40):
        expected = (expected * expected + expected) * np.float32(0.5)
    np.testing.assert_array_equal(y, expected)


@tw.kernel
def shared_in_every_way(x: tw.Tensor["N"], y: tw.Tensor[4, "N"], k: tw.i32, *, N: tw.const):
    zero = tw.zeros((N,), tw.f32)
    a = tw.load(x[:])
    b = a * 2
    is_large = b > 1
    tw.store(y[0, :], b * b, where=is_large & (b < 3))  # in the mask and in the value
    c = tw.arange(0, N).to(tw.f32) * 0.25  # reads no memory
    total = tw.sum(c * c + c)
    for i in range(k):
        d = c + i
        zero = zero + d * d
        if i > 1:
            zero = zero - d
    tw.store(y[1, :], zero + total)
    e = tw.exp(c * 0.1)
    tw.store(y[2, :], e / tw.sum(e) + e)
    tw.store(x[:], b)
    tw.store(y[3, :], (a + b) * b)  # as they were before x changed


def test_results():
    x = np.random.default_rng(3).standard_normal(N).astype(np.float32)
    y = np.full((4, N), 9, np.float32)
    before = x.astype(np.float64)
    shared_in_every_way[1](x, y, 4)
    b = before * 2
    np.testing.assert_allclose(y[0], np.where((b > 1) & (b < 3), b * b, 9), rtol=1e-6)
    c = np.arange(N) * 0.25
    expected = (c * c + c).sum() + sum((c + i) ** 2 - (c + i if i > 1 else 0) for i in range(4))
    np.testing.assert_allclose(y[1], expected, rtol=1e-5)
    e = np.exp(c * 0.1)
    np.testing.assert_allclose(y[2], e / e.sum() + e, rtol=1e-6)
    np.testing.assert_allclose(x, b, rtol=1e-7)
    np.testing.assert_allclose(y[3], (before + b) * b, rtol=1e-6)
