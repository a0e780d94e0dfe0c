"""Launches on virtual worlds, driven by one controller and by a function per rank."""

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def sum_of_ranks(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    tw.barrier()
    for row in tw.persistent(T):
        acc = tw.zeros((H,), tw.f32)
        for r in tw.ranks():
            acc += tw.load(x.at(r)[row, :])
        tw.store(y[row, :], acc)
    tw.barrier()


@tw.kernel
def scale(x: tw.Tensor["N"], y: tw.Tensor["N"], factor: tw.f32, *, B: tw.const = 16):
    for b in tw.persistent(tw.cdiv(N, B)):
        tw.store(y[tw.ds(b * B, B)], tw.load(x[tw.ds(b * B, B)]) * factor)


def data(rank, shape, dtype):
    return np.random.default_rng(rank).standard_normal(shape).astype(dtype)


@tw.kernel
def sum_of_team(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    tw.barrier(team=tw.lsa)
    for row in tw.persistent(T):
        acc = tw.zeros((H,), tw.f32)
        for member in tw.unroll(tw.world_size("lsa")):
            acc += tw.load(x.at(member, team="lsa")[row, :])
        tw.store(y[row, :], acc)
    tw.barrier(team="lsa")


def test_teams_of_a_world():
    with tw.init(virtual="2x3", seed=1) as comm:
        x = comm.window((4, 12), tw.f32)
        for r in range(6):
            x.at(r)[...] = data(r, (4, 12), np.float32)
        y = [np.full((4, 12), np.nan, np.float32) for _ in range(6)]
        sum_of_team[tw.auto](x, y)
        for r in range(6):
            first = r - r % 3
            expected = sum(x.at(each).astype(np.float64) for each in range(first, first + 3))
            np.testing.assert_allclose(y[r], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("world", ["1", "2", "3", "4", "8"])
@pytest.mark.parametrize("dtype", [tw.bf16, tw.f16, tw.f32])
def test_controller(world, dtype):
    numpy_dtype = (
        ml_dtypes.bfloat16 if dtype == tw.bf16 else np.dtype(dtype.name.replace("f", "float"))
    )
    with tw.init(virtual=world, seed=3) as comm:
        x = comm.window((5, 24), dtype)
        for r in range(comm.size):
            x.at(r)[...] = data(r, (5, 24), numpy_dtype)
        y = [np.full((5, 24), np.nan, np.float32) for _ in range(comm.size)]
        sum_of_ranks[tw.auto](x, y)
        expected = sum(x.at(r).astype(np.float64) for r in range(comm.size))
        for each in y:
            np.testing.assert_allclose(each, expected, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(each, y[0])


@pytest.mark.parametrize("grid", [1, 3, 40, (7,), tw.auto])
def test_any_grid_covers_all_rows(grid):
    with tw.init(virtual="2") as comm:
        x = comm.window((17, 8), tw.f32)
        x.at(0)[...], x.at(1)[...] = 1.0, 2.0
        y = [np.full((17, 8), np.nan, np.float32) for _ in range(2)]
        sum_of_ranks[grid](x, y)
        assert all((each == 3.0).all() for each in y)


def test_spawn_gives_each_rank_its_number_and_result():
    assert tw.spawn(lambda comm: (comm.rank, comm.size, comm.lsa_size), world="2x2") == [
        (0, 4, 2),
        (1, 4, 2),
        (2, 4, 2),
        (3, 4, 2),
    ]


@pytest.mark.parametrize("world", ["1", "4", "7"])
def test_spawn(world):
    def main(comm):
        x = comm.window((3, 40), tw.bf16)
        y = np.full((3, 40), np.nan, np.float32)
        for step in range(3):
            x.numpy()[...] = data(10 * step + comm.rank, (3, 40), ml_dtypes.bfloat16)
            sum_of_ranks[tw.auto](x, y)
            sources = [data(10 * step + r, (3, 40), ml_dtypes.bfloat16) for r in range(comm.size)]
            expected = sum(each.astype(np.float64) for each in sources)
            np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
        comm.barrier()
        return y

    results = tw.spawn(main, world=world)
    assert all((each == results[0]).all() for each in results)


def test_spawn_runs_ranks_in_order():
    order = []

    def main(comm):
        order.append(comm.rank)
        comm.barrier()
        order.append(comm.rank)

    tw.spawn(main, world="3")
    assert order == [0, 1, 2, 0, 1, 2]


def test_spawn_launches_that_communicate_with_nobody_need_no_other_rank():
    def main(comm):
        x = np.arange(5.0, dtype=np.float32)
        y = np.full_like(x, np.nan)
        if comm.rank == 1:
            scale[tw.auto](x, y, 2.0)
        return y

    results = tw.spawn(main, world="2")
    assert np.isnan(results[0]).all()
    np.testing.assert_array_equal(results[1], [0, 2, 4, 6, 8])


def test_without_a_world_a_launch_is_local():
    x = data(0, 100, np.float32)
    y = np.full_like(x, np.nan)
    scale[tw.auto](x, y, 3.0)
    np.testing.assert_array_equal(y, x * np.float32(3))


def test_controller_launches_without_windows_or_lists_run_once():
    with tw.init(virtual="4"):
        x = np.ones(10, np.float32)
        scale[tw.auto](x, x, 2.0)
        assert (x == 2).all()


def test_per_rank_scalars():
    with tw.init(virtual="3"):
        y = [np.full(4, np.nan, np.float32) for _ in range(3)]
        scale[1](np.ones(4, np.float32), y, [1.0, 2.0, 3.0])
        assert [each[0] for each in y] == [1.0, 2.0, 3.0]


def test_equal_constants_of_another_type_or_sign_make_code_of_their_own():
    @tw.kernel
    def times(x: tw.Tensor["N"], y: tw.Tensor["N"], *, S: tw.const, N: tw.const):
        tw.store(y[:], tw.load(x[:]) * S)

    x = np.full(4, 2**31 - 1, np.int32)
    y = np.full(4, np.nan, np.float32)
    for constant, expected in ((2, -2.0), (2.0, 2.0**32), (True, 2.0**31), (1.0, 2.0**31)):
        times[1](x, y, S=constant)
        assert (y == expected).all(), constant
    assert len(times.compiled()) == 4
    ones = np.ones(4, np.float32)
    for constant in (0.0, -0.0):
        times[1](ones, y, S=constant)
        assert (np.signbit(y) == np.signbit(constant)).all()


def test_windows_start_cleared_and_are_shared_with_numpy():
    with tw.init(virtual="2") as comm:
        x = comm.window((2, 3), tw.i32)
        assert (x.at(0) == 0).all() and (x.at(1) == 0).all()
        x.at(1)[1, 2] = 7
        assert x.at(1)[1, 2] == 7 and x.at(0)[1, 2] == 0
        assert np.from_dlpack(x).shape == (2, 3)


def test_windows_outlive_their_communicator():
    with tw.init(virtual="2") as comm:
        x = comm.window(4, tw.f32)
    x.at(1)[...] = 5.0
    assert (x.at(1) == 5.0).all()


def test_same_seed_same_bits():
    def run(seed):
        with tw.init(virtual="4", seed=seed) as comm:
            x = comm.window((6, 16), tw.f32)
            for r in range(4):
                x.at(r)[...] = data(r, (6, 16), np.float32)
            y = [np.zeros((6, 16), np.float32) for _ in range(4)]
            sum_of_ranks[tw.auto](x, y)
            return y[2]

    np.testing.assert_array_equal(run(5), run(5))
    np.testing.assert_array_equal(run(5), run(6))  # rank order, whatever the schedule
