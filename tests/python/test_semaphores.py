"""Semaphores on CPU worlds, and objects as arguments of any kernel."""

import numpy as np
import pytest
import tilewire as tw
from tilewire import objects
from tilewire.errors import DeviceAssertionError, HangError, UserError

WORLDS = (1, 2, 3, 8)


@tw.kernel
def gather_sum(
    x: tw.Tensor["N"],
    inbox: tw.Window["W", "N"],
    ready: tw.Semaphore["W"],
    y: tw.Tensor["N"],
    *,
    N: tw.const,
):
    me = tw.rank()
    for r in tw.ranks():
        tw.store(inbox.at(r)[me, :], tw.load(x[:]))
        tw.signal(ready.at(r)[me])
    tw.wait(ready[:])
    total = tw.zeros((N,), tw.f32)
    for r in tw.ranks():
        total += tw.load(inbox[r, :])
    tw.store(y[:], total)
    tw.barrier()


def run_gather_sum(comm, ready, times=3):
    size = comm.size
    inbox = comm.window((size, 64), tw.f32)
    for _ in range(times):
        xs = [np.random.default_rng(r).standard_normal(64, np.float32) for r in range(size)]
        ys = [np.full(64, np.nan, np.float32) for _ in range(size)]
        gather_sum[1](xs, inbox, ready, ys)
        for y in ys:
            np.testing.assert_allclose(y, sum(xs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("world", WORLDS)
def test_data_stored_before_a_signal_is_there_after_the_wait(world):
    for seed in range(10):
        with tw.init(virtual=str(world), seed=seed) as comm:
            run_gather_sum(comm, comm.semaphore(world))


@pytest.mark.parametrize("start", [2**32 - 2, 2**31 - 1, 2**32 - 1])
def test_counters_wrap_around(start):
    with tw.init(virtual="3", seed=1) as comm:
        ready = comm._make(objects.semaphore_request(3, 0, start))
        run_gather_sum(comm, ready, times=5)


@tw.kernel
def ring(
    x: tw.Window["K", "N"],
    full: tw.Semaphore["K"],
    free: tw.Semaphore["K"],
    y: tw.Tensor["T", "N"],
    *,
    N: tw.const,
    K: tw.const,
):
    me = tw.rank()
    size = tw.world_size()
    next_rank = (me + 1) % size
    for t in range(T):
        slot = t % K
        tw.wait(free[slot])
        tw.store(x.at(next_rank)[slot, :], tw.full((N,), 1.0, tw.f32) * (me * 1000 + t).to(tw.f32))
        tw.signal(full.at(next_rank)[slot])
        tw.wait(full[slot])
        tw.store(y[t, :], tw.load(x[slot, :]))
        tw.signal(free.at((me + size - 1) % size)[slot])


@pytest.mark.parametrize("world", WORLDS)
def test_a_ring_with_back_pressure(world):
    with tw.init(virtual=str(world), seed=world) as comm:
        x = comm.window((2, 32), tw.f32)
        full, free = comm.semaphore(2), comm.semaphore(2, init=1)
        ys = [np.full((7, 32), np.nan, np.float32) for _ in range(world)]
        for _ in range(2):
            ring[1](x, full, free, ys)
            for rank, y in enumerate(ys):
                before = (rank - 1) % world
                assert (y == before * 1000 + np.arange(7)[:, None]).all()


@tw.kernel
def many(sem: tw.Semaphore["A", "B"], y: tw.Tensor["M"], n: tw.i32):
    if tw.program_id() == 0:
        for i in range(sem.shape[1]):
            tw.signal(sem[1, i], n)
    else:
        tw.wait(sem[1, :], n)
        tw.store(y[0], n)


def test_waits_of_several_signals_for_slices():
    with tw.init(virtual="1", seed=3) as comm:
        y = np.zeros(1, np.int32)
        sem = comm.semaphore((2, 5))
        for n in (1, 3, 70000):
            many[2](sem, [y], n)
            assert y[0] == n


@tw.kernel
def wait_for_more(sem: tw.Semaphore):
    tw.signal(sem[1])
    tw.wait(sem[1], 2)


def test_a_wait_that_nothing_meets_is_a_deadlock():
    with tw.init(virtual="2", seed=0) as comm, pytest.raises(HangError) as caught:
        wait_for_more[1](comm.semaphore(2))
    message = str(caught.value)
    assert "rank 0, program 0" in message and "rank 1, program 0" in message
    assert "wait(sem): 1 of 2 signals came" in message
    assert "test_semaphores.py" in message


@tw.kernel
def two_consumers(sem: tw.Semaphore):
    tw.signal(sem[0], 2)
    tw.wait(sem[0])


def test_two_consumers_are_found():
    with tw.init(virtual="1", seed=0) as comm, pytest.raises(UserError, match="waits for the same"):
        two_consumers[2](comm.semaphore(1))


@tw.kernel
def signal_at(sem: tw.Semaphore, i: tw.i64):
    tw.signal(sem[i])


@pytest.mark.parametrize("index", [-1, 4, 2**40])
def test_an_index_outside_is_found(index):
    with tw.init(virtual="1") as comm, pytest.raises(DeviceAssertionError, match="outside of"):
        signal_at[1](comm.semaphore(4), index)


def test_what_isnt_a_semaphore_is_refused():
    with tw.init(virtual="1") as comm:
        for wrong in (comm.window(4, tw.u64), comm.flag(4), np.zeros(4, np.uint64)):
            with pytest.raises(UserError, match="argument `sem` must be a semaphore"):
                signal_at[1](wrong, 0)

        @tw.kernel
        def takes_window(x: tw.Window["N"]):
            tw.store(x[0], 1)

        with pytest.raises(UserError, match="`x` must be a window, found a semaphore"):
            takes_window[1](comm.semaphore(4))


def test_objects_have_no_host_view():
    with tw.init(virtual="2") as comm:
        rotating = comm.window((4, 8), tw.f32, rotate=3)
        for each in (comm.semaphore(3), comm.flag(3), comm.channel(3, dtype=tw.f32), rotating):
            for look in (lambda e: e.numpy(), lambda e: e.__dlpack__(), np.asarray):
                with pytest.raises(UserError):
                    look(each)
        with pytest.raises(UserError, match="rotating window"):
            rotating.at(0)


def test_extents_are_part_of_the_kernel():
    @tw.kernel
    def count(sem: tw.Semaphore["N"], y: tw.Tensor["K"]):
        tw.signal(sem[0])
        tw.wait(sem[0])
        tw.store(y[0], N)

    with tw.init(virtual="1") as comm:
        y = np.zeros(1, np.int64)
        for size in (2, 5):
            count[1](comm.semaphore(size), [y])
            assert y[0] == size
        assert len(count.compiled()) == 2


def test_objects_of_two_communicators():
    one, two = tw.init(virtual="1"), tw.init(virtual="1")

    @tw.kernel
    def both(a: tw.Semaphore, b: tw.Semaphore):
        tw.signal(a[0])
        tw.signal(b[0])

    with pytest.raises(UserError, match="`a` and `b` are semaphores of two communicators"):
        both[1](one.semaphore(1), two.semaphore(1))
    one.close()
    two.close()


@tw.kernel
def send_one(
    x: tw.Tensor["N"], inbox: tw.Window["N"], full: tw.Semaphore, to: tw.i32, *, N: tw.const
):
    tw.store(inbox.at(to)[:], tw.load(x[:]))
    tw.signal(full.at(to)[0])


@tw.kernel
def receive_one(inbox: tw.Window["N"], full: tw.Semaphore, y: tw.Tensor["N"], *, N: tw.const):
    tw.wait(full[0])
    tw.store(y[:], tw.load(inbox[:]))


@pytest.mark.parametrize("receiver", [0, 1, 2])
def test_one_sided_kernels_on_some_ranks(receiver):
    """The receiver's launch comes before or after the sender's, whichever rank runs first."""
    sender = (receiver + 1) % 3

    def run(comm):
        inbox, full = comm.window(8, tw.f32), comm.semaphore(1)
        y = np.full(8, np.nan, np.float32)
        for k in range(3):
            if comm.rank == receiver:
                receive_one[1](inbox, full, y)
                assert (y == k).all()
            if comm.rank == sender:
                send_one[1](np.full(8, k, np.float32), inbox, full, receiver)
            comm.barrier()
        return y

    for seed in range(5):
        tw.spawn(run, world="3", seed=seed)


def test_a_one_sided_wait_that_nothing_can_meet():
    def run(comm):
        inbox, full = comm.window(8, tw.f32), comm.semaphore(1)
        if comm.rank == 0:
            receive_one[1](inbox, full, np.zeros(8, np.float32))
        comm.barrier()

    with pytest.raises(HangError, match="wait\\(full\\): 0 of 1 signals came"):
        tw.spawn(run, world="2")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda c: c.semaphore(0), "above 0"),
        (lambda c: c.semaphore((2, True)), "above 0"),
        (lambda c: c.semaphore(2, init=-1), "init is an integer"),
        (lambda c: c.flag("x"), "above 0"),
        (lambda c: c.channel(2), "dtype= is missing"),
        (lambda c: c.channel(2, dtype=tw.f32, depth=0), "depth is an integer"),
        (lambda c: c.channel(2, dtype=tw.f32, signed_zero=False), "exchange=True"),
        (lambda c: c.channel(2, dtype=tw.i32, exchange=True, signed_zero=False), "for floats"),
        (lambda c: c.channel(2, dtype=tw.f32, exchange=True, depth=2), "buffers of its own"),
        (lambda c: c.channel(2, tile=(0,), dtype=tw.f32), "extent of tile"),
        (lambda c: c.window(2, tw.f32, rotate=1), "rotate is an integer"),
    ],
)
def test_wrong_creations(make, message):
    with tw.init(virtual="2") as comm, pytest.raises(UserError, match=message):
        make(comm)


def test_some_ranks_of_one_controller_launch():
    with tw.init(virtual="3") as comm:
        inbox, full = comm.window(8, tw.f32), comm.semaphore(1)
        x, y = np.arange(8, dtype=np.float32), np.full(8, np.nan, np.float32)
        send_one[1]([None, x, None], inbox, full, 2)
        receive_one[1](inbox, full, [None, None, y])
        assert (y == x).all()
        with pytest.raises(HangError, match="0 of 1 signals came"):
            receive_one[1](inbox, full, [None, None, y])
    with tw.init(virtual="3") as comm:
        with pytest.raises(UserError, match="every rank has None"):
            send_one[1]([None] * 3, inbox, full, 2)
        with pytest.raises(UserError, match="rank 1 has None among its arguments"):
            xs = [x, None, x]
            gather_sum[1](xs, comm.window((3, 8), tw.f32), comm.semaphore(3), xs)


def test_auto_under_spawn():
    def run(comm):
        size = comm.size
        inbox, ready = comm.window((size, 64), tw.f32), comm.semaphore(size)
        y = np.full(64, np.nan, np.float32)
        gather_sum[tw.auto](np.full(64, comm.rank, np.float32), inbox, ready, y)
        return y

    # Every instance adds to the one semaphore of its rank: two would take each other's signals.
    with pytest.raises(UserError, match="waits for the same semaphore"):
        tw.spawn(run, world="3")


@tw.kernel
def by_instances(x: tw.Window["W", "G"], ready: tw.Semaphore["G", "W"], y: tw.Tensor["G"]):
    i, me = tw.program_id(0), tw.rank()
    for r in tw.ranks():
        tw.store(x.at(r)[me, i], 10.0 * me.to(tw.f32) + i.to(tw.f32))
        tw.signal(ready.at(r)[i, me])
    tw.wait(ready[i, :])
    tw.store(y[i], tw.load(x[tw.world_size() - 1, i]))
    tw.barrier()


def test_auto_has_an_instance_for_each_row_of_semaphores():
    def run(comm):
        x, ready = comm.window((comm.size, 5), tw.f32), comm.semaphore((5, comm.size))
        y = np.full(5, np.nan, np.float32)
        for _ in range(2):
            by_instances[tw.auto](x, ready, y)
        assert (y == 10 * (comm.size - 1) + np.arange(5)).all()

    for seed in range(5):
        tw.spawn(run, world="3", seed=seed)


def test_a_rank_outside_of_the_team_is_not_signalled():
    @tw.kernel
    def far(sem: tw.Semaphore, r: tw.i32):
        tw.signal(sem.at(r)[0])

    with tw.init(virtual="2x2,gin=0") as comm, pytest.raises(UserError, match=r"team=tw\.lsa"):
        far[1](comm.semaphore(1), 3)
