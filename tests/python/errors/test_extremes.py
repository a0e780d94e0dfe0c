"""Numbers, sizes and nesting that are too large, and objects of the wrong kind."""

import ast
import functools

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def fill(y: tw.Tensor["M", "N"], value: tw.f32, *, B: tw.const = 4):
    for row in tw.persistent(M):
        for start in range(0, N, B):
            tw.store(y[row, tw.ds(start, B)], value)


@tw.kernel
def add_ranks(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const):
    tw.barrier()
    total = tw.zeros((N,), tw.f32)
    for r in tw.ranks():
        total += tw.load(x.at(r)[:])
    tw.store(y[:], total)
    tw.barrier()


def refused(call, *args, error=tw.UserError, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return caught.value.message


@pytest.mark.parametrize("grid", [2**31, 2**70, (2**31, 2**31, 2**31), (2**16, 2**16)])
def test_grid_too_large(grid):
    assert "program instances, at most 2147483647" in refused(lambda: fill[grid])


@pytest.mark.parametrize("grid", [np.int64(2), (np.uint8(2), 1)])
def test_grid_of_numpy_integers(grid):
    y = np.zeros((2, 4), np.float32)
    fill[grid](y, 1.0)
    assert (y == 1).all()


@pytest.mark.parametrize("grid", [0, -1, 1.5, np.float32(2.5), "2", None, (2, 0), np.ones(1, int)])
def test_no_grid(grid):
    assert "a grid is a positive int, a tuple of up to 3 or tw.auto" in refused(lambda: fill[grid])


def test_constant_too_large():
    y = np.zeros((2, 4), np.float32)
    assert refused(fill[1], y, 1.0, B=2**70).endswith(f"`B`: {2**70} doesn't fit 64 bits")


def test_tile_too_large():
    y = np.zeros((2, 4), np.float32)
    assert "[1099511627776] has more than" in refused(fill[1], y, 1.0, B=2**40)


@pytest.mark.parametrize("value", [None, "1", [1.0], 1j, np.ones(1)])
def test_no_number_for_a_scalar(value):
    y = np.zeros((2, 4), np.float32)
    assert "argument `value`: expected a number for f32" in refused(fill[1], y, value)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_nothing_to_store_to(shape):
    fill[tw.auto](np.zeros(shape, np.float32), 1.0)


def test_last_step_leaves_the_range_of_integers():
    @tw.kernel
    def count(y: tw.Tensor["N"], start: tw.i64):
        steps = 0
        for _ in range(start, 2**63 - 1, 2**63 - 2):
            steps = steps + 1
        tw.store(y[0], steps)

    y = np.zeros(1, np.int64)
    count[1](y, 2)
    assert y[0] == 1


@pytest.mark.parametrize("seed", [-1, 2**64, "1", 1.5])
def test_seed(seed):
    assert "the seed is an integer from 0" in refused(tw.init, virtual="2", seed=seed)


def test_device_of_a_virtual_world():
    assert "the device is 'cpu' or 'cuda', found 3" in refused(tw.init, virtual="2", device=3)


def test_window_too_large():
    with tw.init(virtual="2") as comm:
        assert "make it smaller" in refused(comm.window, (2**33, 2**33), tw.f32)
        message = refused(comm.window, (2**45,), tw.f32, error=tw.BackendError)
        assert f"({2**48} bytes): make it smaller" in message


@pytest.mark.parametrize("rank", [-1, 2, 2**40, "0", None, 0.0])
def test_rank_of_a_copy(rank):
    with tw.init(virtual="2") as comm:
        assert "takes a rank from 0 to 1" in refused(comm.window(4, tw.f32).at, rank)


def test_ranks_with_different_windows():
    y = [np.zeros(4, np.float32) for _ in range(2)]
    with tw.init(virtual="2") as other, tw.init(virtual="2") as comm:
        x, second, foreign = (each.window(4, tw.f32) for each in (comm, comm, other))
        x.at(1)[...] = 3
        add_ranks[1]([x, x], y)
        assert (y[0] == 3).all()
        for windows in ([x, second], [x, foreign], [x, None]):
            assert "is a list of different windows" in refused(add_ranks[1], windows, y)


def test_nested_too_deeply():
    @tw.kernel
    def deep(x: tw.Tensor["N"], s: tw.i32):
        tw.store(x[0], -s)

    store = deep.source.function.body[0].value
    for _ in range(10_000):
        store.args[1] = ast.copy_location(ast.UnaryOp(ast.USub(), store.args[1]), store.args[1])
    assert "nested too deeply: split it" in refused(deep[1], np.zeros(1, np.int32), 3)


def test_name_of_a_parameter_and_a_dimension():
    @tw.kernel
    def same(x: tw.Tensor["s"], s: tw.f32):
        tw.store(x[0], s)

    @tw.kernel
    def same_as_unnamed(x: tw.Tensor, x_0: tw.f32):
        tw.store(x[0], x_0)

    for kernel, name in ((same, "s"), (same_as_unnamed, "x_0")):
        message = refused(kernel[1], np.zeros(1, np.float32), 1.0)
        assert f"`{name}` is a parameter and a dimension of `x`" in message


@pytest.mark.parametrize("value", [None, 3, "text", functools.partial(print), len])
def test_no_function(value):
    assert "@tw.kernel takes a plain function (`def`), found" in refused(tw.kernel, value)
