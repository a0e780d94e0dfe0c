"""Ranks of `tw.spawn` that fail, leave, or do different things."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def meet(y: tw.Tensor["N"]):
    tw.barrier()
    tw.store(y[0], 1.0)


@tw.kernel
def meet_twice(y: tw.Tensor["N"]):
    tw.barrier()
    tw.barrier()
    tw.store(y[0], 1.0)


def buffer():
    return np.zeros(1, np.float32)


def test_exception_in_one_rank_ends_the_others():
    ended = []

    def main(comm):
        if comm.rank == 2:
            raise ValueError("the data is bad")
        comm.barrier()
        ended.append(comm.rank)

    with pytest.raises(ValueError, match="the data is bad") as caught:
        tw.spawn(main, world="4")
    assert ended == []
    if hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__ == ["raised in rank 2 of the virtual world"]


def test_rank_that_never_launches():
    def main(comm):
        if comm.rank != 1:
            meet[2](buffer())

    with pytest.raises(tw.HangError) as caught:
        tw.spawn(main, world="3")
    message = str(caught.value)
    assert "rank 1" in message and "test_spawn.py" in message and "barrier" in message


def test_rank_that_never_comes_to_a_collective_call():
    def main(comm):
        if comm.rank != 1:
            comm.barrier()

    with pytest.raises(tw.HangError) as caught:
        tw.spawn(main, world="2")
    assert str(caught.value) == (
        "rank 0 waits in comm.barrier() for rank 1, which returned without calling it"
    )


def test_ranks_at_different_calls():
    def main(comm):
        if comm.rank == 0:
            comm.barrier()
        else:
            comm.window(4, tw.f32)

    with pytest.raises(tw.UserError) as caught:
        tw.spawn(main, world="2")
    assert str(caught.value) == (
        "ranks meet at different calls: rank 0 is in comm.barrier(), rank 1 in "
        "comm.window(4, tw.f32)"
    )


def test_windows_whose_shapes_differ():
    def main(comm):
        comm.window(4 + comm.rank, tw.f32)

    with pytest.raises(tw.UserError, match=r"rank 0 is in comm.window\(4, tw.f32\), rank 1 in"):
        tw.spawn(main, world="2")


def test_ranks_that_launch_different_kernels():
    def main(comm):
        (meet if comm.rank == 0 else meet_twice)[1](buffer())

    with pytest.raises(tw.HangError) as caught:
        tw.spawn(main, world="2")
    assert "meet_twice" in str(caught.value) and "meet" in str(caught.value)


def test_ranks_that_launch_different_grids():
    def main(comm):
        meet[1 + comm.rank](buffer())

    with pytest.raises(tw.HangError) as caught:
        tw.spawn(main, world="2")
    assert str(caught.value) == (
        "ranks launch different things: rank 0 meet[1](), rank 1 meet[2]()"
    )


def test_error_of_a_launch_can_be_caught_in_every_rank():
    def main(comm):
        with pytest.raises(tw.UserError):
            meet[100000](buffer())
        return "went on"

    assert tw.spawn(main, world="2") == ["went on", "went on"]


def test_user_error_in_a_kernel_shows_its_line():
    @tw.kernel
    def bad(y: tw.Tensor["N"]):
        tw.load(y[:])

    with pytest.raises(tw.UserError, match="known only at run time"):
        tw.spawn(lambda comm: bad[1](buffer()), world="2")


def test_communicator_outlives_its_ranks():
    for comm in tw.spawn(lambda comm: comm, world="2"):
        for call in (comm.barrier, lambda comm=comm: comm.window(4, tw.f32)):
            with pytest.raises(tw.UserError, match="has returned, and its communicator ended"):
                call()


@tw.kernel
def read(x: tw.Window["N"], y: tw.Tensor["N"]):
    tw.store(y[0], tw.load(x[0]))


def test_window_of_another_rank():
    windows = {}

    def main(comm):
        windows[comm.rank] = comm.window(1, tw.f32)
        read[1](windows[0], buffer())

    with pytest.raises(tw.UserError, match="window is rank 0's, but rank 1 runs: use its own"):
        tw.spawn(main, world="2")


def test_interrupt_ends_the_ranks():
    def main(comm):
        if comm.rank == 1:
            signal.raise_signal(signal.SIGINT)
        while True:
            comm.barrier()

    # A shell starts what runs in its background with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tw.spawn(main, world="3")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [each for each in threading.enumerate() if each.name.startswith("rank ")]


@tw.kernel
def meet_for_ever(x: tw.Window["N"]):
    for _ in range(2**31 - 1):
        tw.barrier()


@tw.kernel
def count_for_ever(x: tw.Window["N"], y: tw.Tensor["N"], n: tw.i64):
    total = tw.load(y[0])
    for _ in range(n):
        total = tw.sin(total + 1.0)
    tw.store(y[0], total)


@pytest.mark.parametrize("last_one_counts", [False, True])
def test_interrupt_ends_launches(last_one_counts):
    def main(comm):
        window = comm.window(1, tw.f32)
        if comm.rank == 1:
            threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
        if last_one_counts:
            comm.barrier()
            if comm.rank == 2:
                count_for_ever[1](window, np.zeros(1, np.float32), 2**62)
        meet_for_ever[1](window)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tw.spawn(main, world="3")
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 20
    while any(each.name.startswith("rank ") for each in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@tw.kernel
def set_at_the_next(f: tw.Flag, *, n: tw.const):
    tw.set(f.at((tw.rank() + 1) % tw.world_size())[0])


def test_a_launch_that_need_not_wait_and_that_one_rank_leaves_out():
    def main(comm):
        flag = comm.flag(1)
        for n in range(2 if comm.rank == 1 else 3):
            set_at_the_next[1](flag, n=n)

    message = r"rank [02] set_at_the_next\[1\]\(n=2\), rank 1 returned without launching it"
    with pytest.raises(tw.HangError, match=message):
        tw.spawn(main, world="3")
