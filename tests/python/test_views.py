"""Views: clipping, transposed, of any shape and strides, of high rank, and their masks."""

import numpy as np
import pytest
import tilewire as tw

X = np.random.default_rng(3).standard_normal((13, 24)).astype(np.float32)


def padded(part, shape, fill=0.0):
    out = np.full(shape, fill, part.dtype)
    out[tuple(slice(0, min(a, b)) for a, b in zip(part.shape, shape, strict=True))] = part[
        tuple(slice(0, each) for each in shape)
    ]
    return out


@tw.kernel
def read_clipped(
    x: tw.Tensor["M", "N"],
    y: tw.Tensor["B", "N"],
    lower: tw.i64,
    upper: tw.i64,
    start: tw.i64,
    *,
    B: tw.const,
    N: tw.const,
):
    part = x[lower:upper]
    tw.store(y[:, :], tw.load(part[tw.ds(start, B), :], other=-1.0))


@pytest.mark.parametrize(
    ("lower", "upper", "start"),
    [(0, 13, 0), (2, 7, 0), (2, 7, 3), (5, 100, 4), (9, 3, 0), (0, 0, 0), (12, 13, 1), (3, 9, -2)],
)
def test_a_view_clips_and_later_slices_count_from_it(lower, upper, start):
    y = np.full((8, 24), 9, np.float32)
    read_clipped[1](X, y, lower, upper, start)
    part = X[lower : max(lower, min(upper, 13))]
    rows = [
        part[i] if 0 <= i < len(part) else np.full(24, -1, np.float32)
        for i in range(start, start + 8)
    ]
    assert (y == np.stack(rows)).all()


def test_a_store_never_touches_the_neighbour():
    @tw.kernel
    def f(y: tw.Tensor["M"], lower: tw.i64, upper: tw.i64):
        tw.store(y[lower:upper][tw.ds(0, 8)], tw.full(8, 7.0))
        tw.store(y[lower:upper][1:3][tw.ds(0, 4)], 8.0)

    y = np.zeros(16, np.float32)
    f[1](y, 3, 7)
    assert y.tolist() == [0, 0, 0, 7, 8, 8, 7] + [0] * 9


def test_transposed():
    @tw.kernel
    def f(x: tw.Tensor["M", "N"], y: tw.Tensor["N", "B"], *, N: tw.const, B: tw.const):
        tw.store(y[:, :], tw.load(x.T[:, tw.ds(0, B)]))
        tw.store(y[0, 0], tw.load(x[2:9].T[3, 1]))

    y = np.full((24, 16), 9, np.float32)
    f[1](X, y)
    expected = padded(X.T, (24, 16))
    expected[0, 0] = X[3, 3]
    assert (y == expected).all()


def test_store_through_a_transposed_view():
    @tw.kernel
    def f(x: tw.Tensor["M", "N"], y: tw.Tensor["N", "M"], *, M: tw.const, N: tw.const):
        tw.store(y.T, tw.load(x))

    y = np.full((24, 13), 9, np.float32)
    f[1](X, y)
    assert (y == X.T).all()


def test_matmul_with_a_transposed_view():
    @tw.kernel
    def f(
        a: tw.Tensor["M", "K"],
        b: tw.Tensor["N", "K"],
        c: tw.Tensor["M", "N"],
        *,
        M: tw.const,
        N: tw.const,
    ):
        tw.store(c[:, :], tw.matmul(a[:, :], b[:, :].T))

    a, b = X[:8], X[4:8]
    c = np.full((8, 4), 9, np.float32)
    f[1](a, b, c)
    assert np.allclose(c, a @ b.T, atol=1e-2)


def test_any_view():
    @tw.kernel
    def f(
        x: tw.Tensor["N"],
        y: tw.Tensor["A", "B"],
        z: tw.Tensor["K"],
        width: tw.i64,
        *,
        A: tw.const,
        B: tw.const,
        K: tw.const,
    ):
        # Windows of B elements, 3 apart.
        tw.store(y[:, :], tw.load(tw.view(x, 5, (A, B), (3, 1))))
        # A matrix of run-time width, from element 2 on; one row of it.
        tw.store(z[:], tw.load(tw.view(x, 2, (4, width))[1, tw.ds(0, K)]))

    x = np.arange(64, dtype=np.float32)
    y, z = np.full((4, 5), 9, np.float32), np.full(8, 9, np.float32)
    f[1](x, y, z, 6)
    assert (y == 5 + 3 * np.arange(4)[:, None] + np.arange(5)).all()
    assert z.tolist() == [8, 9, 10, 11, 12, 13, 0, 0]


def test_a_view_of_a_part_of_a_peers_window():
    @tw.kernel
    def f(x: tw.Window["M", "N"], y: tw.Tensor["R", "K"], *, N: tw.const, K: tw.const):
        tw.barrier()
        for r in tw.ranks():
            even = tw.view(x.at(r)[1], 0, (K,), (2,))
            tw.store(y[r], tw.load(even))
        tw.barrier()

    with tw.init(virtual="3") as comm:
        x = comm.window((3, 12), tw.f32)
        for r in range(3):
            x.at(r)[...] = 100 * r + np.arange(36).reshape(3, 12)
        y = [np.full((3, 6), 9, np.float32) for _ in range(3)]
        f[1](x, y)
        expected = 100 * np.arange(3)[:, None] + 12 + 2 * np.arange(6)
        assert all((each == expected).all() for each in y)


def test_inside_is_the_mask():
    @tw.kernel
    def f(
        x: tw.Tensor["M", "N"],
        y: tw.Tensor["A", "B"],
        z: tw.Tensor["A"],
        s: tw.Tensor["S"],
        *,
        A: tw.const,
        B: tw.const,
    ):
        part = x[4:9]
        tw.store(y[:, :], tw.inside(part[tw.ds(2, A), tw.ds(20, B)]))
        tw.store(z[:], tw.inside(part[tw.arange(A) * 2, 3]))
        tw.store(s[0], tw.inside(x[12, 0]))
        tw.store(s[1], tw.inside(part[5, 0]))
        tw.store(
            s[2], tw.inside(x[tw.cast(s[2].shape[0], tw.i64), 23]) if False else tw.inside(x[0, N])
        )

    y, z, s = np.full((4, 8), True), np.full(4, False), np.full(3, False)
    x = X
    try:
        f[1](x, y, z, s)
    except tw.UserError:
        raise
    rows, columns = np.arange(4)[:, None] + 2, np.arange(8) + 20
    assert (y == ((rows < 5) & (columns < 24))).all()
    assert z.tolist() == [True, True, True, False]
    assert s.tolist() == [True, False, False]


def test_where_takes_the_mask_of_another_view():
    @tw.kernel
    def f(x: tw.Tensor["M"], y: tw.Tensor["B"], limit: tw.i64, *, B: tw.const):
        tw.store(y[:], tw.load(x[tw.ds(0, B)], other=5.0, where=tw.inside(x[:limit][tw.ds(0, B)])))

    y = np.full(8, 9, np.float32)
    f[1](X[0], y, 3)
    assert y.tolist() == [*X[0, :3].tolist(), 5, 5, 5, 5, 5]


def test_rank_five():
    @tw.kernel
    def f(
        x: tw.Tensor["A", "B", "C", "D", "E"], y: tw.Tensor["B", "E"], *, B: tw.const, E: tw.const
    ):
        for a in range(A):
            for c in range(C):
                tw.store(y[:, :], tw.load(y[:, :]) + tw.load(x[a, :, c, 1, :]))

    x = np.random.default_rng(1).standard_normal((2, 3, 4, 2, 5)).astype(np.float32)
    y = np.zeros((3, 5), np.float32)
    f[1](x, y)
    assert np.allclose(y, x[:, :, :, 1].sum(axis=(0, 2)), atol=1e-5)


def test_negative_bounds_count_from_the_end():
    @tw.kernel
    def f(x: tw.Tensor["M"], y: tw.Tensor["B"], *, B: tw.const):
        tw.store(y[:], tw.load(x[-3:-1][tw.ds(0, B)]))

    y = np.full(4, 9, np.float32)
    f[1](X[0], y)
    assert y.tolist() == [X[0, -3], X[0, -2], 0, 0]


@tw.kernel
def last_of_rows(x: tw.Tensor["N"], y: tw.Tensor["M"], offset: tw.i64, rows: tw.i64, gap: tw.i64):
    v = tw.view(x, offset, (rows, 4), (gap, 1))
    tw.store(tw.view(y, 0, (4,), (1,))[:], tw.load(v[rows - 1, :]))


@pytest.mark.parametrize(("offset", "rows", "gap", "first"), [(4, 15, 4, 60), (60, 15, -4, 4)])
def test_a_view_up_to_the_ends_of_its_memory(offset, rows, gap, first):
    x, y = np.arange(64, dtype=np.float32), np.full(4, np.nan, np.float32)
    last_of_rows[1](x, y, offset, rows, gap)
    assert (y == x[first : first + 4]).all()


@pytest.mark.parametrize(
    ("offset", "rows", "gap"),
    [(5, 15, 4), (-1, 1, 4), (55, 15, -4), (0, 1 << 40, 1 << 40), (0, 2, 1 << 62)],
)
def test_a_view_beyond_its_memory_ends_the_launch(offset, rows, gap):
    x, y = np.arange(64, dtype=np.float32), np.full(4, np.nan, np.float32)
    with pytest.raises(tw.DeviceAssertionError, match=r"tw\.view reaches beyond the memory of `x`"):
        last_of_rows[1](x, y, offset, rows, gap)
    assert np.isnan(y).all()
