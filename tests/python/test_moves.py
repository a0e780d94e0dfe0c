"""Ops that move a tile's elements or combine them in order: what the op cases don't show."""

import numpy as np
import pytest
import tilewire as tw


@pytest.fixture(scope="module", autouse=True)
def world():
    with tw.init(virtual="1") as comm:
        yield comm


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


@tw.kernel
def one_line(x: tw.Tensor["N"], y: tw.Tensor["N"], z: tw.Tensor["N"], *, N: tw.const):
    tile = tw.load(x[:])
    tw.store(y[:], tw.sort(tw.flip(tile), descending=True))
    tw.store(z[:], tw.cumsum(tile, reverse=True))


@pytest.mark.parametrize("length", [1, 2, 3, 31, 32, 33, 1000])
def test_one_line_of_any_length(length):
    x = np.random.default_rng(length).integers(-50, 50, length).astype(np.int32)
    y, z = np.full_like(x, 99), np.full_like(x, 99)
    one_line[1](x, y, z)
    np.testing.assert_array_equal(y, np.sort(x)[::-1])
    np.testing.assert_array_equal(z, np.cumsum(x[::-1])[::-1])


@tw.kernel
def middle_axis(
    x: tw.Tensor["A", "B", "C"], total: tw.Tensor["A", "B", "C"], order: tw.Tensor["A", "B", "C"],
    largest: tw.Tensor["A", "C"], at: tw.Tensor["A", "C"], *, A: tw.const, B: tw.const, C: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :, :])
    tw.store(total[:, :, :], tw.cumsum(tile, axis=1))
    tw.store(order[:, :, :], tw.sort(tile, axis=1))
    value, index = tw.max(tile, axis=-2, return_index=True)
    tw.store(largest[:, :], value)
    tw.store(at[:, :], index)


def test_the_middle_axis_of_rank_3():
    x = np.random.default_rng(0).standard_normal((3, 37, 5))
    total, order = np.full_like(x, np.nan), np.full_like(x, np.nan)
    largest, at = np.full((3, 5), np.nan), np.full((3, 5), -1, np.int32)
    middle_axis[1](x, total, order, largest, at)
    np.testing.assert_allclose(total, x.cumsum(axis=1))
    np.testing.assert_array_equal(order, np.sort(x, axis=1))
    np.testing.assert_array_equal(largest, x.max(axis=1))
    np.testing.assert_array_equal(at, x.argmax(axis=1))


@tw.kernel
def halves(x: tw.Tensor["M", "N"], y: tw.Tensor["M", "N"], *, M: tw.const, N: tw.const):
    left, right = tw.split(tw.load(x[:, :]), axis=-1)
    tw.store(y[:, :], tw.cat(right, left, axis=1))


def test_split_and_cat_of_halves():
    x = np.random.default_rng(0).standard_normal((5, 22)).astype(np.float32)
    y = np.full_like(x, np.nan)
    halves[1](x, y)
    np.testing.assert_array_equal(y, np.roll(x, 11, axis=1))


@tw.kernel
def rotate(x: tw.Tensor["T", "D"], y: tw.Tensor["T", "D"], *, D: tw.const):
    for row in tw.persistent(T):
        a, b = tw.split(tw.load(x[row, :]))
        tw.store(y[row, :], tw.cat(-b, a))


def test_rotate_half_as_in_rotary_embeddings():
    x = np.random.default_rng(0).standard_normal((4, 128)).astype(np.float32)
    y = np.full_like(x, np.nan)
    rotate[2](x, y)
    np.testing.assert_array_equal(y, np.concatenate([-x[:, 64:], x[:, :64]], axis=1))


@tw.kernel
def many_parts(x: tw.Tensor["M", "N"], y: tw.Tensor[8, 5], *, M: tw.const, N: tw.const):
    t = tw.load(x[:, :])
    tw.store(y[0, :], t[2, 1:6])
    tw.store(y[1, :], t[-1, -5:])
    tw.store(y[2, :], t[:5, 3])
    tw.store(y[3:5, :], t[1:3, :5])
    tw.store(y[5:6, :], t[None, 4, 2:7])
    tw.store(y[6, :], t[1:100][0, :5])
    tw.store(y[7, :], tw.reshape(t[:5, :1][:, 0][:, None], (5,)))


def test_parts_follow_python():
    x = np.random.default_rng(0).standard_normal((6, 9)).astype(np.float32)
    y = np.full((8, 5), np.nan, np.float32)
    many_parts[1](x, y)
    parts = [x[2, 1:6], x[-1, -5:], x[:5, 3], *x[1:3, :5], x[4, 2:7], x[1, :5], x[:5, 0]]
    np.testing.assert_array_equal(y, parts)


@tw.kernel
def in_a_loop(x: tw.Tensor["T", "N"], y: tw.Tensor["N"], best: tw.Tensor[2], *, N: tw.const):
    """Results of ops with two results, carried and used in branches."""
    total = tw.zeros((N,), tw.f32)
    value, place = -1e9, 0
    for row in range(T):
        tile = tw.load(x[row, :])
        total += tw.cumsum(tile)
        top, at = tw.max(tile, return_index=True)
        if top > value:
            value = top
            place = row * N + at
    tw.store(y[:], total)
    tw.store(best[0], value)
    tw.store(best[1], place)


def test_in_loops_and_branches():
    x = np.random.default_rng(3).standard_normal((9, 40)).astype(np.float32)
    y, best = np.full(40, np.nan, np.float32), np.full(2, np.nan, np.float32)
    in_a_loop[1](x, y, best)
    np.testing.assert_allclose(y, x.cumsum(axis=1).sum(axis=0), rtol=1e-4, atol=1e-4)
    assert best[0] == x.max() and best[1] == x.argmax()


@tw.kernel
def top_by_gather(x: tw.Tensor["T", "E"], y: tw.Tensor["T", 1], *, T: tw.const, E: tw.const):
    tile = tw.load(x[:, :])
    tw.store(y[:, :], tw.gather(tile, tw.argmax(tile, axis=1)[:, None], axis=1))


def test_gather_of_what_argmax_found():
    x = np.random.default_rng(0).standard_normal((7, 12)).astype(np.float32)
    y = np.full((7, 1), np.nan, np.float32)
    top_by_gather[1](x, y)
    np.testing.assert_array_equal(y[:, 0], x.max(axis=1))


def test_an_element_and_its_index_are_found_once(ir, lowered):
    @tw.kernel
    def f(x: tw.Tensor["M", "N"], y: tw.Tensor["M"], *, M: tw.const, N: tw.const):
        tile = tw.load(x[:, :])
        value, index = tw.max(tile, 1, return_index=True)
        tw.store(y[:], value + tw.argmax(tile, 1) + index)

    arguments = {"x": "f32[4, 8]", "y": "f32[4]"}
    assert ir(f, **arguments).count("argmax(") == 2
    assert lowered(f, **arguments).count("argmax(") == 1


@tw.kernel
def truth(x: tw.Tensor["N"], y: tw.Tensor[2], *, N: tw.const):
    tile = tw.load(x[:])
    if tw.any(tile) and not tw.all(tile):
        tw.store(y[0], 1)
    tw.store(y[1], tw.all(tile >= 0.0))


@pytest.mark.parametrize("values", [(0, 0, 0), (0, 1, 2), (1, -1, 1)])
def test_any_and_all_of_numbers(values):
    x, y = np.array(values, np.float32), np.zeros(2, np.int32)
    truth[1](x, y)
    assert y.tolist() == [int(x.any() and not x.all()), int((x >= 0).all())]


def test_every_dtype_joins_in_the_common_one():
    @tw.kernel
    def mixed(a: tw.Tensor[4], b: tw.Tensor[3], y: tw.Tensor[7]):
        tw.store(y[:], tw.cat(tw.load(a[:]), tw.load(b[:])))

    a, b = np.array([1, 2, 3, 4], np.int32), np.array([0.5, 1.5, 2.5], np.float32)
    y = np.full(7, np.nan, np.float32)
    mixed[1](a, b, y)
    np.testing.assert_array_equal(y, np.concatenate([a, b]))


@tw.kernel
def in_one_branch(x: tw.Tensor[1], y: tw.Tensor[8], z: tw.Tensor[8]):
    numbers = tw.arange(8)
    if tw.load(x[0]) > 0:
        tw.store(y[:], tw.sort(numbers, descending=True))
    tw.store(z[:], numbers)


@pytest.mark.parametrize("value", [0, 1])
def test_what_one_branch_sorts_is_there_for_the_others(value):
    x, y, z = np.array([value], np.int32), np.full(8, -1, np.int32), np.full(8, -1, np.int32)
    in_one_branch[1](x, y, z)
    np.testing.assert_array_equal(y, np.arange(8)[::-1] if value else np.full(8, -1))
    np.testing.assert_array_equal(z, np.arange(8))


@tw.kernel
def read_before_written(x: tw.Tensor["N"], y: tw.Tensor["N"], *, N: tw.const):
    before = tw.load(x[:])
    tw.store(x[:], tw.flip(before))
    tw.store(y[:], tw.cat(tw.sort(before)[: N // 2], before[N // 2 :]))


def test_memory_is_read_in_program_order():
    x = np.random.default_rng(0).standard_normal(10).astype(np.float32)
    before, y = x.copy(), np.full(10, np.nan, np.float32)
    read_before_written[1](x, y)
    np.testing.assert_array_equal(x, before[::-1])
    np.testing.assert_array_equal(y, np.concatenate([np.sort(before)[:5], before[5:]]))
