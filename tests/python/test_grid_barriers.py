"""Barriers of all program instances, on worlds of the CPU target."""

import numpy as np
import pytest
import tilewire as tw
from grid_barrier_kernels import reverse_often

WORLDS = ["1", "2", "3", "8", "2x4"]
ROUNDS = 5


@tw.kernel
def rotate(w: tw.Window["G"], seen: tw.Tensor["R", "G"], *, R: tw.const):
    """Each round, each instance writes its element of the next rank's copy and reads an element
    that another instance of another rank wrote."""
    i = tw.program_id(0)
    n = tw.num_programs(0)
    size = tw.world_size("lsa")
    for turn in range(R):
        tw.store(w.at((tw.rank("lsa") + 1) % size, team="lsa")[i],
                 100 * turn + 10 * tw.rank("lsa") + i)  # fmt: skip
        tw.barrier(team="lsa", scope="grid")
        tw.store(seen[turn, i], tw.load(w[(i + 1 + turn) % n]))
        tw.barrier(team="lsa", scope="grid")


@pytest.mark.parametrize("world", WORLDS)
def test_all_instances_of_the_team_meet(world):
    for seed in range(10):
        with tw.init(virtual=world, seed=seed) as comm:
            for grid in (1, 4, 3):  # any size after any other: nothing is resized
                w = comm.window((grid,), tw.i32)
                seen = [np.full((ROUNDS, grid), -1, np.int32) for _ in range(comm.size)]
                rotate[grid](w, seen, R=ROUNDS)
                team = comm.lsa_size
                for rank in range(comm.size):
                    writer = (rank - 1) % team
                    expected = [
                        [100 * t + 10 * writer + (i + 1 + t) % grid for i in range(grid)]
                        for t in range(ROUNDS)
                    ]
                    np.testing.assert_array_equal(seen[rank], expected)


@pytest.mark.parametrize("world", [None, *WORLDS])
def test_all_instances_of_a_rank_meet(world):
    x = np.arange(7, dtype=np.int32)
    if world is None:
        reverse_often[3](x, np.zeros_like(x), R=4)
        np.testing.assert_array_equal(x, np.arange(7) + 4)
        return
    for seed in range(10):
        with tw.init(virtual=world, seed=seed) as comm:
            xs = [x + 10 * rank for rank in range(comm.size)]
            for grid in (1, 5, 2):
                reverse_often[grid](xs, [np.zeros_like(x) for _ in xs], R=4)
            for rank, each in enumerate(xs):
                np.testing.assert_array_equal(each, np.arange(7) + 10 * rank + 3 * 4 + 0)
            xs.clear()


@pytest.mark.parametrize("order", ["acq_rel", "acquire", "release", "relaxed"])
@pytest.mark.parametrize("team", ["world", "lsa", "rail", "local"])
def test_every_order_and_team_lets_all_pass(team, order):
    @tw.kernel
    def pass_by(x: tw.Window["N"]):
        for _ in range(3):
            tw.barrier(team=team, scope="grid", order=order)

    with tw.init(virtual="3") as comm:
        x = comm.window((4,), tw.i32)
        for grid in (5, 1, 2):
            pass_by[grid](x)


def test_who_stays_away_is_named():
    @tw.kernel
    def some_leave(x: tw.Window["N"]):
        if tw.rank() == 1 and tw.program_id(0) > 1:
            return
        tw.barrier(scope="grid")

    with tw.init(virtual="2") as comm:
        x = comm.window((4,), tw.i32)
        with pytest.raises(tw.HangError) as caught:
            some_leave[5](x)
        text = str(caught.value)
        line = some_leave.source.line(some_leave.source.function) + 3
        where = f"test_grid_barriers.py:{line} in barrier(team=world, scope=grid) for"
        assert "rank 0, programs 0-4: " in text
        assert f"{where} rank 1, programs 2-4, each of which has finished" in text


def test_a_local_barrier_that_an_instance_misses():
    @tw.kernel
    def first_leaves(x: tw.Window["N"]):
        if tw.program_id(0) == 0:
            return
        tw.barrier(team="local", scope="grid")

    with tw.init(virtual="2") as comm:
        x = comm.window((4,), tw.i32)
        with pytest.raises(tw.HangError, match=r"for rank 0, program 0, which has finished"):
            first_leaves[2](x)


def test_slots_and_words_serve_every_grid_that_fits():
    with tw.init(virtual="2") as comm:
        limit = 264
        w = comm.window((limit,), tw.i32)
        seen = [np.full((ROUNDS, limit), -1, np.int32) for _ in range(2)]
        rotate[limit](w, seen, R=ROUNDS)
        assert (seen[0] >= 0).all()

        @tw.kernel
        def meet_by_instance(w: tw.Window["G"], y: tw.Tensor["G"]):
            i = tw.program_id(0)
            tw.store(w.at(1 - tw.rank())[i], i + 1)
            tw.barrier()
            tw.store(y[i], tw.load(w[i]))

        y = [np.zeros(limit, np.int32) for _ in range(2)]
        meet_by_instance[limit](w, y)
        assert all((each == np.arange(limit) + 1).all() for each in y)


def test_a_barrier_of_all_is_refused_where_only_some_come():
    @tw.kernel
    def inside_a_group(x: tw.Window["N"]):
        with tw.instances(0, 2):
            tw.barrier(scope="grid")

    @tw.kernel
    def inside_dynamic_work(x: tw.Window["N"]):
        for _ in tw.persistent(N, schedule="dynamic"):
            tw.barrier(team="local", scope="grid")

    with tw.init(virtual="2") as comm:
        x = comm.window((4,), tw.i32)
        with pytest.raises(tw.UserError, match=r"only those of this tw\.instances"):
            inside_a_group[4](x)
        with pytest.raises(tw.UserError, match="never reached by all"):
            inside_dynamic_work[4](x)
