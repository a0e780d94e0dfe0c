"""Lanes on the CPU world: what runs on which, what they share, and what they refuse."""

import re

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def gather(x: tw.Window["N"], y: tw.Tensor["N"]):
    tw.barrier()
    acc = 0.0
    for r in tw.ranks():
        acc += tw.load(x.at(r)[0])
    if tw.program_id(0) == 0:
        tw.store(y[0], acc)
    tw.barrier()


@tw.kernel
def add_two(a: tw.Window["N"], b: tw.Window["N"], y: tw.Tensor["N"]):
    tw.barrier()
    tw.store(y[0], tw.load(a[0]) + tw.load(b[0]))
    tw.barrier()


@tw.kernel
def meet_n_times(y: tw.Tensor["N"], n: tw.i32):
    for _ in range(n):
        tw.barrier()
    tw.store(y[0], 1.0)


@tw.kernel
def meet_per_row(x: tw.Tensor["T"], y: tw.Tensor["N"]):
    for _ in range(T):
        tw.barrier()
    tw.store(y[0], 1.0)


def world(size=2):
    return tw.init(virtual=str(size), seed=3)


def outputs(comm):
    return [np.full(1, np.nan, np.float32) for _ in range(comm.size)]


def filled(window, comm):
    for rank in range(comm.size):
        window.at(rank)[:] = rank + 1
    return window


def message(call, kind=tw.UserError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_lane_0_is_there_and_lanes_are_made_once():
    with world() as comm:
        assert comm.lane(0).number == 0
        lane = comm.lane(3, sms=16, exclusive=True)
        assert (lane.number, lane.sms, lane.exclusive, lane.comm) == (3, 16, True, comm)
        assert comm.lane(3) is lane
        assert comm.lane(3, sms=16, exclusive=True) is lane


def test_other_options_for_a_lane_are_refused():
    with world() as comm:
        comm.lane(1, sms=16)
        assert message(lambda: comm.lane(1, sms=8)) == (
            "comm.lane(1, sms=8, exclusive=False): lane 1 was made with sms=16, exclusive=False; a "
            "lane keeps its options: ask for it with these, or for another number"
        )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((-1,), "a lane's number is 0 to 63"),
        ((64,), "a lane's number is 0 to 63"),
        (("a",), "a lane's number is 0 to 63"),
        ((1, 0), "sms is a number of multiprocessors, at least 1, or None"),
        ((1, 2.5), "sms is a number of multiprocessors"),
        ((1, None, 1), "exclusive is True or False"),
    ],
)
def test_what_is_no_lane(arguments, text):
    with world() as comm:
        assert text in message(lambda: comm.lane(*arguments))


def test_budgets_fit_the_device_together():
    with world() as comm:
        comm.lane(1, sms=100)
        assert message(lambda: comm.lane(2, sms=33)) == (
            "comm.lane(2, sms=33, exclusive=False): the other lanes' budgets are 100 "
            "multiprocessors of the 132 that a rank has: ask for at most 32"
        )
        comm.lane(2, sms=32)


def test_a_budget_caps_grids():
    with world() as comm:
        lane = comm.lane(1, sms=4)
        x = filled(lane.window(1, tw.f32), comm)
        y = outputs(comm)
        assert message(lambda: gather[5](x, y)) == (
            "kernel `gather`: a grid of 5 on lane 1, whose budget is 4 multiprocessors: use "
            "tw.auto or a grid of at most 4"
        )
        for grid in (4, tw.auto):
            gather[grid](x, y)
            assert [each[0] for each in y] == [3, 3]


def test_the_budget_of_lane_0():
    with tw.init(virtual="2", sms=4) as comm:
        assert comm.lane(0).sms == 4
        x = filled(comm.window(1, tw.f32), comm)
        assert "on lane 0, whose budget is 4" in message(lambda: gather[5](x, outputs(comm)))


def test_kernels_run_on_the_lane_of_their_arguments():
    with world() as comm:
        lane = comm.lane(1)
        plain = filled(comm.window(1, tw.f32), comm)
        here = filled(lane.window(1, tw.f32), comm)
        assert plain.lane is None and here.lane is lane
        y = outputs(comm)
        add_two[1](plain, here, y)
        gather.on(lane=lane)[2](plain, y)
        gather.on(lane=1)[2](here, y)
        assert [each[0] for each in y] == [3, 3]


def test_objects_are_on_a_lane():
    with world() as comm:
        lane = comm.lane(2)
        assert comm.semaphore(4).lane is comm.lane(0)
        assert comm.flag((2, 4)).lane is comm.lane(0)
        assert comm.window(4, tw.f32, rotate=2).lane is comm.lane(0)
        made = [
            lane.semaphore(4),
            lane.flag(4),
            lane.channel((2, 4), tile=(8,), dtype=tw.f32),
            lane.window(4, tw.f32, rotate=2),
        ]
        assert [each.lane for each in made] == [lane] * 4


def test_arguments_of_two_lanes():
    with world() as comm:
        a = comm.lane(1).window(1, tw.f32)
        b = comm.lane(2).window(1, tw.f32)
        assert message(lambda: add_two[1](a, b, outputs(comm))) == (
            "kernel `add_two`: argument `a` is on lane 1, argument `b` on lane 2: a launch runs on "
            "one lane, make both on it"
        )


def test_a_kernel_that_communicates_with_nobody_takes_any_lanes():
    @tw.kernel
    def copy(a: tw.Window["N"], b: tw.Window["N"]):
        tw.store(b[0], tw.load(a[0]))

    with world() as comm:
        a = filled(comm.lane(1).window(1, tw.f32), comm)
        b = comm.lane(2).window(1, tw.f32)
        copy[1](a, b)
        copy.on(lane=0)[1](b, a)
        assert [b.at(rank)[0] for rank in range(2)] == [1, 2]


def test_a_lane_that_contradicts_the_arguments():
    with world() as comm:
        lane = comm.lane(1)
        x = comm.lane(2).window(1, tw.f32)
        for said in (lane, 1):
            assert message(lambda said=said: gather.on(lane=said)[1](x, outputs(comm))) == (
                "kernel `gather`: argument `x` is on lane 2, but kernel.on(lane=) says lane 1: "
                "leave it out, or make the argument there"
            )


def test_a_lane_that_was_not_made():
    with world() as comm:
        x = comm.window(1, tw.f32)
        assert message(lambda: gather.on(lane=5)[1](x, outputs(comm))) == (
            "there is no lane 5: make it first, with comm.lane(5)"
        )
        assert "lane= is a lane, made by comm.lane(…)" in message(lambda: gather.on(lane="a"))


def test_windows_and_lanes_of_another_communicator():
    with world() as comm, world() as other:
        x = comm.window(1, tw.f32)
        z = other.window(1, tw.f32)
        y = outputs(comm)
        assert message(lambda: add_two[1](x, z, y)) == (
            "kernel `add_two`: arguments `a` and `b` are windows of two communicators: make both "
            "with one"
        )
        text = message(lambda: gather.on(lane=other.lane(1))[1](x, y))
        assert "is a lane of another communicator than argument `x`" in text


def test_communicators_side_by_side():
    with world(2) as pair, world(3) as trio:
        for comm, total in ((pair, 3), (trio, 6)):
            x = filled(comm.window(1, tw.f32), comm)
            y = outputs(comm)
            gather[4](x, y)
            assert [each[0] for each in y] == [total] * comm.size


def test_a_failed_launch_ends_its_lane_only():
    @tw.kernel
    def fails(x: tw.Window["N"], y: tw.Tensor["N"]):
        if tw.rank() == 0:
            tw.barrier()
        tw.store(y[0], tw.load(x[0]))

    with world() as comm:
        lane = comm.lane(1)
        x = filled(lane.window(1, tw.f32), comm)
        plain = filled(comm.window(1, tw.f32), comm)
        y = outputs(comm)
        with pytest.raises(tw.HangError):
            fails[1](x, y)
        assert "lane 1 has ended, since a launch on it failed" in message(lambda: gather[1](x, y))
        gather[1](plain, y)
        assert [each[0] for each in y] == [3, 3]


@pytest.mark.parametrize("counts", [(2, 2), (2, 3)])
def test_how_often_ranks_meet(counts):
    def main(comm):
        meet_n_times[1](np.zeros(1, np.float32), counts[comm.rank])
        return "went on"

    if counts[0] == counts[1]:
        assert tw.spawn(main, world="2") == ["went on", "went on"]
        return
    text = message(lambda: tw.spawn(main, world="2"), tw.HangError)
    assert text.startswith(
        "ranks launch different things: rank 0 meet_n_times[1](n=2), rank 1 meet_n_times[1](n=3)"
    )


def test_shapes_that_decide_how_often_ranks_meet():
    with world() as comm:
        x = [np.zeros(2 + rank, np.float32) for rank in range(2)]
        text = message(lambda: meet_per_row[1](x, outputs(comm)), tw.HangError)
        assert text == (
            "ranks launch different things: rank 0 meet_per_row[1](T=2), rank 1 "
            "meet_per_row[1](T=3)"
        )


def spawned(function, kind=tw.UserError):
    return message(lambda: tw.spawn(function, world="2"), kind)


def test_ranks_that_ask_for_different_lanes():
    assert spawned(lambda comm: comm.lane(1, sms=16 + comm.rank)).startswith(
        "ranks meet at different calls: rank 0 is in comm.lane(1, sms=16, exclusive=False), rank 1 "
        "in comm.lane(1, sms=17, exclusive=False)"
    )
    assert "comm.lane(1, " in spawned(lambda comm: comm.lane(1 + comm.rank))
    assert "exclusive=True" in spawned(lambda comm: comm.lane(1, exclusive=comm.rank == 0))


def test_ranks_that_launch_on_different_lanes():
    def main(comm):
        comm.lane(1)
        meet_n_times.on(lane=comm.rank)[1](np.zeros(1, np.float32), 1)

    text = spawned(main, tw.HangError)
    assert re.search(
        r"rank 0 meet_n_times\[1\]\(n=1\), rank 1 meet_n_times\[1\]\(n=1\) on lane 1", text
    )


def test_lanes_under_spawn():
    def main(comm):
        lane = comm.lane(1, sms=8)
        x = lane.window(1, tw.f32)
        x.at(comm.rank)[:] = comm.rank + 1
        y = np.full(1, np.nan, np.float32)
        gather[8](x, y)
        return lane.number, y[0]

    assert tw.spawn(main, world="3") == [(1, 6.0)] * 3


def test_one_rank_allocates_and_the_other_does_not():
    def main(comm):
        if comm.rank == 0:
            comm.lane(1).window(4, tw.f32)

    assert spawned(main, tw.HangError) == (
        "rank 0 waits in comm.lane(1, sms=None, exclusive=False) for rank 1, which returned "
        "without calling it"
    )


def test_freed_windows():
    with world() as comm:
        x = comm.window(1, tw.f32)
        comm.free(x)
        assert "given back by `comm.free`" in message(lambda: gather[1](x, outputs(comm)))
        with world() as other:
            y = other.window(1, tw.f32)
            assert message(lambda: comm.free(y)) == (
                "comm.free takes a window or objects of this communicator"
            )

    def main(comm):
        both = [comm.window(1, tw.f32) for _ in range(2)]
        comm.free(both[comm.rank])

    assert spawned(main) == (
        "comm.free: ranks 0 and 1 give back different windows: all ranks free the same, in one "
        "order"
    )


def test_reserve():
    with world() as comm:
        comm.reserve(1 << 20)
        comm.trim()
        assert "comm.reserve: its argument is an integer from 1" in message(
            lambda: comm.reserve(-1)
        )
    assert "comm.reserve(1), rank 1 in comm.reserve(2)" in spawned(
        lambda comm: comm.reserve(1 + comm.rank)
    )


def test_abort_then_a_new_communicator():
    comm = world()
    x = comm.window(1, tw.f32)
    comm.abort()
    for call in (lambda: gather[1](x, outputs(comm)), comm.barrier, lambda: comm.window(1, tw.f32)):
        assert message(call) == "this communicator was aborted: make a new one to go on"
    comm.close()
    test_communicators_side_by_side()


def test_objects_of_another_communicator():
    @tw.kernel
    def signal_both(a: tw.Semaphore["N"], b: tw.Flag["M"]):
        tw.signal(a[0])

    with world() as comm, world() as other:
        text = message(lambda: signal_both[1](comm.semaphore(1), other.flag(1)))
    assert text == (
        "kernel `signal_both`: arguments `a` and `b` are semaphores and flags of two "
        "communicators: make both with one"
    )
