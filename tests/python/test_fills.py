"""`comm.copy` and fills on CPU worlds."""

import flag_kernels as kernels
import numpy as np
import pytest
import tilewire as tw

N = 24


def fill_and_launch(comm, shard, full, ready, y):
    with ready.fill() as fill:
        for r in range(comm.size):
            comm.copy(full[r], shard.at(r), then=fill[r])
    kernels.gather_filled[2](full, y, ready)


def values(size, launch):
    return 10.0 * launch + np.arange(size, dtype=np.float32)[:, None] + np.zeros(N, np.float32)


@pytest.mark.parametrize("world", ["1", "2", "3", "8"])
def test_a_controller_fills_the_flags_of_all_ranks(world):
    with tw.init(virtual=world, seed=1) as comm:
        shard, full = comm.window(N, tw.f32), comm.window((comm.size, N), tw.f32)
        ready = comm.flag(comm.size)
        for launch in range(6):
            for r in range(comm.size):
                shard.at(r)[...] = 10.0 * launch + r
            y = [np.full((comm.size, N), np.nan, np.float32) for _ in range(comm.size)]
            fill_and_launch(comm, shard, full, ready, y)
            for each in y:
                np.testing.assert_array_equal(each, values(comm.size, launch))


@pytest.mark.parametrize("world", ["1", "2", "3"])
@pytest.mark.parametrize("seed", range(6))
def test_each_rank_fills_its_own_or_its_peers_flags(world, seed):
    def main(comm):
        full = comm.window((comm.size, N), tw.f32)
        ready = comm.flag(comm.size)
        results = []
        for launch in range(5):
            mine = np.full(N, 10.0 * launch + comm.rank, np.float32)
            with ready.fill() as fill:
                for p in range(comm.size):
                    comm.copy(full.at(p)[comm.rank], mine, then=fill.at(p)[comm.rank])
            y = np.full((comm.size, N), np.nan, np.float32)
            kernels.gather_filled[2](full, y, ready)  # a barrier ends it: full is free then
            results.append(y)
        return results

    for results in tw.spawn(main, world=world, seed=seed):
        for launch, y in enumerate(results):
            np.testing.assert_array_equal(y, values(int(world), launch))


def test_a_controller_pushes_by_lists():
    """Every rank's shard to another rank, whose flag is raised."""
    with tw.init(virtual="3", seed=2) as comm:
        full, ready = comm.window((3, N), tw.f32), comm.flag(3)
        shards = [np.full(N, 10.0 + r, np.float32) for r in range(3)]
        with ready.fill() as fill:
            for i in range(3):
                peers = [(r + i) % 3 for r in range(3)]
                to = [full.at(p)[r] for r, p in enumerate(peers)]
                comm.copy(to, shards, then=[fill.at(p)[r] for r, p in enumerate(peers)])
        y = [np.full((3, N), np.nan, np.float32) for _ in range(3)]
        kernels.gather_filled[2](full, y, ready)
        for each in y:
            np.testing.assert_array_equal(each, values(3, 1))


def test_a_prefetched_fill_belongs_to_the_launch_of_its_number():
    with tw.init(virtual="2", seed=3) as comm:
        full, ready = comm.window((2, N), tw.f32), comm.flag(2)
        part = np.ones((2, N), np.float32)
        y = [np.full((2, N), np.nan, np.float32) for _ in range(2)]
        for _ in range(2):  # two fills ahead
            with ready.fill() as fill:
                for r in range(2):
                    comm.copy(full[r], part[r], then=fill[r])
        for _ in range(2):
            kernels.gather_filled[2](full, y, ready)
        with pytest.raises(tw.HangError, match="fill 2 came, this is launch 3"):
            kernels.gather_filled[2](full, y, ready)


def test_what_is_filled_is_not_set():
    with tw.init(virtual="2") as comm:
        ready = comm.flag(4)
        y = [np.zeros(4, np.float32) for _ in range(2)]
        kernels.count_to_three[5](y, ready)
        with ready.fill():
            pass
        with pytest.raises(tw.UserError, match="argument `ready` is filled by copies"):
            kernels.count_to_three[5](y, ready)


def test_copies_of_rows_and_of_anything_contiguous():
    with tw.init(virtual="2") as comm:
        w = comm.window((4, 6), tw.f32)
        w.at(1)[...] = np.arange(24).reshape(4, 6)
        out = [np.zeros((2, 3), np.float32) for _ in range(2)]
        comm.copy(out, w.at(1)[1:3, 2:5])
        for each in out:
            np.testing.assert_array_equal(each, [[8, 9, 10], [14, 15, 16]])
        comm.copy(w.at(0), w.at(1))
        np.testing.assert_array_equal(w.at(0), w.at(1))
        comm.copy(w[1:, :], w.at(1)[:3])  # of each rank's own copy
        np.testing.assert_array_equal(w.at(0)[1:], np.arange(18).reshape(3, 6))


def test_what_can_not_be_copied():
    with tw.init(virtual="2") as comm:
        w = comm.window((4, 6), tw.f32)
        out = np.zeros((4, 6), np.float32)
        for target, source, message in [
            (out, w.at(1)[:3], "equal shapes and dtypes"),
            (out.astype(np.float64), w, "equal shapes and dtypes"),
            (out[:, ::2], w.at(1)[:, 1:4], "contiguous memory, or rows"),
            (3.0, w, "a window, a part of one or an array"),
        ]:
            with pytest.raises(tw.UserError, match=message):
                comm.copy(target, source)
        ready = comm.flag((2, 2))
        with pytest.raises(tw.UserError, match="2 indices"):
            ready.fill()[0]
        with pytest.raises(tw.UserError, match="outside of an array"):
            ready.fill()[0, 2]
        with ready.fill() as fill:
            comm.copy(out, w.at(0), then=fill[0, 1])
        with pytest.raises(tw.UserError, match="this fill is over"):
            comm.copy(out, w.at(0), then=fill[0, 1])
        with pytest.raises(tw.UserError, match="the CPU has no streams"):
            comm.copy(out, w.at(0), stream=7)


def test_calls_after_free_and_close():
    with tw.init(virtual="2") as comm:
        shard, ready, sem = comm.window(4, tw.f32), comm.flag(2), comm.semaphore(2, init=1)
        with pytest.raises(tw.UserError, match=r"a list of 1, the world has 2 ranks"):
            comm.copy(shard, [np.zeros(4, np.float32)])
        for each in (ready, sem, shard):
            comm.free(each)
        with pytest.raises(tw.UserError, match="this flag was given back"):
            ready.fill().__enter__()
        with pytest.raises(tw.UserError, match="this semaphore was given back"):
            comm.stream_wait(sem[0])
        with pytest.raises(tw.UserError, match="this window was given back already"):
            comm.free(shard)
        shard, ready = comm.window(4, tw.f32), comm.flag(2)
    with pytest.raises(tw.UserError, match="this communicator is closed"):
        comm.copy(shard, np.zeros(4, np.float32))
    with pytest.raises(tw.UserError, match="this communicator is closed"):
        ready.fill().__enter__()
