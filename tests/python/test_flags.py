"""Flags and rotating windows on CPU worlds: counts of each launch, whoever runs ahead."""

import flag_kernels as kernels
import numpy as np
import pytest
import tilewire as tw
from tilewire.objects import flag_request, window_request

WORLDS = ["1", "2", "3", "8"]
T, H = 5, 16


def rows(rank, launch):
    return np.random.default_rng([rank, launch]).standard_normal((T, H)).astype(np.float32)


def expected(size, launch):
    return sum(rows(r, launch).astype(np.float64) for r in range(size))


def poisoned(shape=(T, H)):
    return np.full(shape, np.nan, np.float32)


def run_apart(comm, kernel, w, ready, launches, grid=3):
    """One rank's launches in a row; what each of them left."""
    results = []
    for launch in range(launches):
        y = poisoned()
        kernel[grid](rows(comm.rank, launch), w, y, ready)
        results.append(y)
    return results


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", range(6))
def test_flags_count_the_sets_of_their_launch(world, seed):
    with tw.init(virtual=world, seed=seed) as comm:
        w = comm.window((comm.size, T, H), tw.f32)
        ready = comm.flag((comm.size, T))
        for launch in range(9):
            x = [rows(r, launch) for r in range(comm.size)]
            y = [poisoned() for _ in range(comm.size)]
            kernels.push_rows[1 + launch % 4](x, w, y, ready)
            for each in y:
                np.testing.assert_allclose(each, expected(comm.size, launch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rotate", [2, 3])
def test_ranks_run_apart_over_rotating_windows(world, seed, rotate):
    def main(comm):
        w = comm.window((comm.size, T, H), tw.f32, rotate=rotate)
        ready = comm.flag((comm.size, T))
        return run_apart(comm, kernels.push_rows_rotating, w, ready, 9)

    for results in tw.spawn(main, world=world, seed=seed):
        for launch, y in enumerate(results):
            np.testing.assert_allclose(y, expected(int(world), launch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("world", ["2", "3"])
def test_a_rotating_window_that_peers_read(world, seed):
    def main(comm):
        w = comm.window((T, H), tw.f32, rotate=2)
        ready = comm.flag((comm.size, T))
        return run_apart(comm, kernels.pull_rows_rotating, w, ready, 9, grid=2)

    for results in tw.spawn(main, world=world, seed=seed):
        for launch, y in enumerate(results):
            np.testing.assert_allclose(
                y[:, 0], expected(int(world), launch)[:, 0], rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("world", ["2", "3"])
@pytest.mark.parametrize("rotate", [2, 3])
def test_who_waits_for_nobody_does_not_run_away(world, seed, rotate):
    def main(comm):
        w = comm.window((T, H), tw.f32, rotate=rotate)
        ready = comm.flag(T)
        return run_apart(comm, kernels.broadcast_rotating, w, ready, 12, grid=2)

    for results in tw.spawn(main, world=world, seed=seed):
        for launch, y in enumerate(results):
            np.testing.assert_array_equal(y[:, 0], rows(0, launch)[:, 0])


@pytest.mark.parametrize("start", [2**32 - 3, 2**32 - 7, 2**40 + 1])
@pytest.mark.parametrize("world", ["1", "2", "3"])
def test_numbers_of_launches_may_be_large(world, start):
    def main(comm):
        w = comm._make(window_request(comm.size, (comm.size, T, H), tw.f32, 3, start=start))
        ready = comm._make(flag_request(comm.size, (comm.size, T), start=start))
        return run_apart(comm, kernels.push_rows_rotating, w, ready, 12)

    for results in tw.spawn(main, world=world, seed=4):
        for launch, y in enumerate(results):
            np.testing.assert_allclose(y, expected(int(world), launch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("limit", [0, 2, 9])
def test_every_way_out_leaves_the_launch(world, limit):
    with tw.init(virtual=world, seed=limit) as comm:
        ready = comm.flag((comm.size, 4))
        for launch in range(10):
            x = [np.full(4, 10.0 * r + launch, np.float32) for r in range(comm.size)]
            y = [poisoned(4) for _ in range(comm.size)]
            kernels.leave_early[6](limit, x, y, ready)
            for r, each in enumerate(y):
                done = min(limit, 4)
                assert (each[:done] == x[r][:done] + 1).all() and np.isnan(each[done:]).all()


@pytest.mark.parametrize("world", WORLDS)
def test_a_launch_that_neither_sets_nor_waits_counts(world):
    with tw.init(virtual=world, seed=2) as comm:
        w = comm.window((comm.size, T, H), tw.f32)
        ready = comm.flag((comm.size, T))
        scratch = comm.window((3,), tw.f32, rotate=2)
        for launch in range(8):
            if launch % 3 != 1:
                x = [rows(r, launch) for r in range(comm.size)]
                y = [poisoned() for _ in range(comm.size)]
                kernels.push_rows[2](x, w, y, ready)
                for each in y:
                    np.testing.assert_allclose(
                        each, expected(comm.size, launch), rtol=1e-5, atol=1e-5
                    )
            else:
                y = [poisoned(3) for _ in range(comm.size)]
                kernels.take_only[2](ready, scratch, y)
                assert all((each == 1).all() for each in y)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", range(5))
def test_any_number_of_instances_wait_for_several_sets(world, seed):
    with tw.init(virtual=world, seed=seed) as comm:
        ready = comm.flag(4)
        for _ in range(7):
            y = [poisoned(4) for _ in range(comm.size)]
            kernels.count_to_three[5](y, ready)
            assert all((each == 3).all() for each in y)


@tw.kernel
def wait_for_all(ready: tw.Flag["W", "N"]):
    if tw.rank() != 1:
        tw.set(ready.at(0)[tw.rank(), 0])
    if tw.rank() == 0:
        tw.wait(ready[:, 0])


def test_a_wait_that_nobody_meets_names_its_line_and_what_came():
    with tw.init(virtual="3", seed=0) as comm:
        ready = comm.flag((comm.size, 2))
        with pytest.raises(tw.HangError) as caught:
            wait_for_all[1](ready)
    assert "rank 0, program 0: waits at " in str(caught.value)
    assert "in wait(ready): 0 of 1 sets of its element [1] came" in str(caught.value)


@tw.kernel
def two_windows(a: tw.Window["N"], b: tw.Window["N"]):
    tw.store(a[0], tw.load(b[0]))


@tw.kernel
def two_flags(a: tw.Flag["N"], b: tw.Flag["N"]):
    tw.set(a[0])
    tw.set(b[0])


def test_one_launch_takes_an_object_once():
    with tw.init(virtual="2") as comm:
        w = comm.window(4, tw.f32, rotate=2)
        other = comm.window(4, tw.f32, rotate=2)
        two_windows[1](w, other)
        with pytest.raises(tw.UserError, match="`a` and `b` are one rotating window"):
            two_windows[1](w, w)
        plain = comm.window(4, tw.f32)
        two_windows[1](plain, plain)
        flag, another = comm.flag(2), comm.flag(2)
        two_flags[1](flag, another)
        with pytest.raises(tw.UserError, match="`a` and `b` are one array of flags"):
            two_flags[1](flag, flag)


@tw.kernel
def barrier_in_a_dynamic_loop(x: tw.Window["N"]):
    for i in tw.persistent(N, schedule="dynamic"):
        tw.barrier()
        tw.store(x[i], 1.0)


@tw.kernel
def barrier_behind_a_dynamic_loop(x: tw.Window["N"]):
    for i in tw.persistent(N, schedule="dynamic"):
        tw.store(x[i], 1.0)
    tw.barrier()


def test_instances_of_a_dynamic_loop_meet_nobody_by_their_number():
    with tw.init(virtual="2") as comm:
        x = comm.window(5, tw.f32)
        with pytest.raises(tw.UserError, match='inside a loop with schedule="dynamic"'):
            barrier_in_a_dynamic_loop[2](x)
        barrier_behind_a_dynamic_loop[2](x)
        assert (x.at(1) == 1).all()


@tw.kernel
def set_slice(ready: tw.Flag["N"]):
    tw.set(ready[:])


@tw.kernel
def set_tensor(x: tw.Tensor["N"]):
    tw.set(x[0])


def test_what_can_be_set():
    with tw.init(virtual="1") as comm:
        with pytest.raises(tw.UserError, match="set: sets one flag"):
            set_slice[1](comm.flag(3))
        with pytest.raises(tw.UserError, match="takes a flag, found"):
            set_tensor[1](np.zeros(3, np.float32))
