"""`comm.stream_wait`: semaphores that hold back what a host launches next, on CPU worlds."""

import numpy as np
import pytest
import tilewire as tw
from tilewire.errors import HangError, UserError


def test_a_stream_waits_for_a_semaphore():
    def run(comm):
        inbox, full = comm.window(8, tw.f32), comm.semaphore((2, 3))
        x = np.full(8, 5, np.float32)
        if comm.rank == 0:
            comm.stream_wait(full[1, 2])
            assert (inbox.at(0) == 5).all()
            comm.stream_wait(full[1, -1], timeout=None)
        else:
            send_to[1](x, inbox, full, 0)
        comm.barrier()

    tw.spawn(run, world="2")


@tw.kernel
def send_to(
    x: tw.Tensor["N"], inbox: tw.Window["N"], full: tw.Semaphore, to: tw.i32, *, N: tw.const
):
    tw.store(inbox.at(to)[:], tw.load(x[:]))
    tw.signal(full.at(to)[1, 2], 2)


def test_a_stream_waits_in_a_world_of_one_controller():
    with tw.init(virtual="2") as comm:
        inbox, full = comm.window(8, tw.f32), comm.semaphore((2, 3))
        x = np.full(8, 5, np.float32)
        send_to[1]([None, x], inbox, full, 0)
        comm.stream_wait(full.at(0)[1, 2], 2)
        with pytest.raises(HangError, match="wait\\(semaphores\\): 0 of 1 signals came"):
            comm.stream_wait(full.at(0)[1, 2])


def test_what_a_stream_cannot_wait_for():
    with tw.init(virtual="2") as comm:
        sem = comm.semaphore((2, 3))
        for wrong, message in (
            (lambda: comm.stream_wait(sem), "takes one semaphore"),
            (lambda: comm.stream_wait(comm.flag(2)[0]), "takes one semaphore"),
            (lambda: comm.stream_wait(sem[0]), "one for each dimension"),
            (lambda: comm.stream_wait(sem[2, 0]), "outside"),
            (lambda: comm.stream_wait(sem.at(2)[0, 0]), "no rank 2"),
            (lambda: comm.stream_wait(sem[0, 0], 0), "n is an integer"),
        ):
            with pytest.raises(UserError, match=message):
                wrong()
