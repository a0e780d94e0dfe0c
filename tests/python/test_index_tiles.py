"""Indices that are tiles: gathers in `tw.load`, scatters in `tw.store`, here and at peers."""

import numpy as np
import pytest
import tilewire as tw

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((13, 24)).astype(np.float32)
ROWS = np.array([3, 12, 0, -1, 13, 3, 7, 1 << 20], np.int32)  # -1, 13, 1 << 20: outside


def rows_of(x, rows, fill=0.0):
    """NumPy's meaning: a row that doesn't exist is `fill`."""
    out = np.full((len(rows), x.shape[1]), fill, x.dtype)
    for i, row in enumerate(rows):
        if 0 <= row < len(x):
            out[i] = x[row]
    return out


@tw.kernel
def gather_rows(
    x: tw.Tensor["M", "N"],
    rows: tw.Tensor["R"],
    y: tw.Tensor["R", "N"],
    *,
    R: tw.const,
    N: tw.const,
):
    tw.store(y[:, :], tw.load(x[tw.load(rows[:]), :]))


def test_rows():
    y = np.full((8, 24), 9, np.float32)
    gather_rows[1](X, ROWS, y)
    assert (y == rows_of(X, ROWS)).all()


def test_rows_of_a_strided_tensor():
    y = np.full((8, 24), 9, np.float32)
    wide = np.repeat(X, 2, axis=1)
    gather_rows[1](wide[:, ::2], ROWS, y)
    assert (y == rows_of(X, ROWS)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_any_integer_dtype_indexes(dtype):
    y = np.full((4, 24), 9, np.float32)
    rows = np.array([5, 0, 12, 100], dtype)
    gather_rows[1](X, rows, y)
    assert (y == rows_of(X, rows.astype(np.int64))).all()


def test_other_and_where():
    @tw.kernel
    def f(
        x: tw.Tensor["M", "N"],
        rows: tw.Tensor["R"],
        y: tw.Tensor["R", "N"],
        *,
        R: tw.const,
        N: tw.const,
    ):
        index = tw.load(rows[:])
        tw.store(y[:, :], tw.load(x[index, :], other=-2.0, where=(index > 0)[:, None]))

    y = np.full((8, 24), 9, np.float32)
    f[1](X, ROWS, y)
    assert (y == rows_of(X, np.where(ROWS > 0, ROWS, -1), -2.0)).all()


def test_part_of_the_columns_and_a_scalar_between():
    @tw.kernel
    def f(
        x: tw.Tensor["A", "B", "C"],
        rows: tw.Tensor["R"],
        y: tw.Tensor["R", "K"],
        start: tw.i64,
        *,
        R: tw.const,
        K: tw.const,
    ):
        tw.store(y[:, :], tw.load(x[tw.load(rows[:]), 1, tw.ds(start, K)]))

    x = RANDOM.standard_normal((6, 3, 10)).astype(np.float32)
    rows = np.array([2, 5, 6, 0], np.int32)
    y = np.full((4, 4), 9, np.float32)
    f[1](x, rows, y, 8)
    expected = np.zeros((4, 4), np.float32)
    for i, row in enumerate(rows):
        if row < 6:
            expected[i, :2] = x[row, 1, 8:]
    assert (y == expected).all()


def test_columns():
    @tw.kernel
    def f(
        x: tw.Tensor["M", "N"],
        columns: tw.Tensor["R"],
        y: tw.Tensor["B", "R"],
        *,
        R: tw.const,
        B: tw.const,
    ):
        tw.store(y[:, :], tw.load(x[tw.ds(4, B), tw.load(columns[:])]))

    y = np.full((16, 3), 9, np.float32)
    columns = np.array([23, 24, 1], np.int32)
    f[1](X, columns, y)
    expected = np.zeros((16, 3), np.float32)
    expected[:9, 0], expected[:9, 2] = X[4:, 23], X[4:, 1]
    assert (y == expected).all()


def test_index_tiles_broadcast_together():
    @tw.kernel
    def f(
        x: tw.Tensor["M", "N"],
        a: tw.Tensor["A"],
        b: tw.Tensor["B"],
        y: tw.Tensor["A", "B"],
        z: tw.Tensor["A"],
        *,
        A: tw.const,
        B: tw.const,
    ):
        rows, columns = tw.load(a[:]), tw.load(b[:])
        tw.store(y[:, :], tw.load(x[rows[:, None], columns[None, :]]))
        tw.store(z[:], tw.load(x[rows, tw.arange(A) * 2]))

    rows = np.array([1, 12, 0, 4], np.int32)
    columns = np.array([0, 23, 5, 2, 2, 9], np.int32)
    y, z = np.full((4, 6), 9, np.float32), np.full(4, 9, np.float32)
    f[1](X, rows, columns, y, z)
    assert (y == X[np.ix_(rows, columns)]).all() and (z == X[rows, np.arange(4) * 2]).all()


def test_scatter_drops_what_is_outside():
    @tw.kernel
    def f(
        x: tw.Tensor["R", "N"],
        rows: tw.Tensor["R"],
        y: tw.Tensor["M", "N"],
        limit: tw.i32,
        *,
        R: tw.const,
        N: tw.const,
    ):
        index = tw.load(rows[:])
        tw.store(y[index, :], tw.load(x[:, :]), where=(index < limit)[:, None])

    rows = np.array([3, -7, 2, 12, 13, 7, 8, 0], np.int32)
    x = X[:8]
    y = np.full((13, 24), 9, np.float32)
    f[1](x, rows, y, 12)
    expected = np.full((13, 24), 9, np.float32)
    for i, row in enumerate(rows):
        if 0 <= row < 12:
            expected[row] = x[i]
    assert (y == expected).all()


def test_scatter_of_a_scalar_and_of_what_was_read_there():
    @tw.kernel
    def f(rows: tw.Tensor["R"], y: tw.Tensor["M"], *, R: tw.const):
        index = tw.load(rows[:])
        tw.store(y[index], tw.load(y[index]) * 2.0)
        tw.store(y[index + 1], 7.0)

    y = np.arange(1, 11, dtype=np.float32)
    f[1](np.array([0, 4, 9], np.int32), y)
    assert y.tolist() == [2, 7, 3, 4, 10, 7, 7, 8, 9, 20]


def test_a_view_that_clips_bounds_its_index_tiles():
    @tw.kernel
    def f(
        x: tw.Tensor["M", "N"],
        y: tw.Tensor["R", "N"],
        lower: tw.i64,
        upper: tw.i64,
        *,
        R: tw.const,
        N: tw.const,
    ):
        tw.store(y[:, :], tw.load(x[lower:upper][tw.arange(R) - 1, :]))

    y = np.full((8, 24), 9, np.float32)
    f[1](X, y, 4, 9)
    assert (y == rows_of(X[4:9], np.arange(8) - 1)).all()


def test_later_slices_of_the_other_dimensions():
    @tw.kernel
    def f(
        x: tw.Tensor["M", "N"],
        rows: tw.Tensor["R"],
        y: tw.Tensor["R", "K"],
        *,
        R: tw.const,
        K: tw.const,
    ):
        tw.store(y[:, :], tw.load(x[tw.load(rows[:]), :][:, tw.ds(22, K)]))

    y = np.full((8, 4), 9, np.float32)
    f[1](X, ROWS, y)
    expected = np.zeros((8, 4), np.float32)
    expected[:, :2] = rows_of(X, ROWS)[:, 22:]
    assert (y == expected).all()


@tw.kernel
def gather_from_peers(
    x: tw.Window["M", "N"],
    rows: tw.Tensor["R"],
    y: tw.Window["W", "R", "N"],
    *,
    R: tw.const,
    N: tw.const,
):
    tw.barrier()
    index = tw.load(rows[:])
    for r in tw.ranks():
        tw.store(y.at(r)[tw.rank(), index, :], tw.load(x.at(r)[index, :]) + 1.0)
    tw.barrier()


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_peers(size):
    with tw.init(virtual=str(size)) as comm:
        x = comm.window((6, 8), tw.f32)
        y = comm.window((size, 4, 8), tw.f32)
        for r in range(size):
            x.at(r)[...] = RANDOM.standard_normal((6, 8))
            y.at(r)[...] = 9
        rows = [np.array([r % 4, 3 - r % 4, 99, -1], np.int32) for r in range(size)]
        gather_from_peers[1](x, rows, y)
        for r in range(size):
            for source in range(size):
                expected = np.full((4, 8), 9, np.float32)
                for row in rows[source][:2]:
                    expected[row] = x.at(r)[row] + 1
                assert (y.at(r)[source] == expected).all()
