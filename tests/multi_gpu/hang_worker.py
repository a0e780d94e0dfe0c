"""One rank of a run in which rank 1 never launches a kernel (`first`: a kernel's first launch, on
which the ranks must agree; `never`: a later one), or is killed before it (`killed`); or in which it
never makes a window (`window`), or is killed before that (`window killed`).

Rank 0 exits with 3 where it got the HangError, and prints it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

import tilewire as tw
import torch
from norm import EPS, Problem, allreduce_rmsnorm


def hang_error(comm: tw.Communicator, seconds: float) -> tw.HangError | None:
    """What `comm.check` raises, when it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            comm.check()
        except tw.HangError as error:
            return error
        time.sleep(0.01)
    return None


def first_launch(launch: Callable[[], None]) -> int:
    start = time.monotonic()
    try:
        launch()
    except tw.HangError as error:
        print(f"after {time.monotonic() - start:.2f} s: {error}", flush=True)
        return 3
    return 1


def main(mode: str) -> int:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    comm = tw.init()
    x = comm.window((16, 1024), tw.bf16)
    problem = Problem(comm.size, "bf16", 16, 1024)
    torch.from_dlpack(x).copy_(problem.inputs[rank])
    y = problem.poisoned_output()

    def launch() -> None:
        allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)

    timeout = float(os.environ["TILEWIRE_TIMEOUT"])
    if mode.startswith("window"):
        comm.barrier()
        if rank == 0:
            return first_launch(lambda: comm.window((8, 128), tw.f32))
        if mode == "window killed":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(2 * timeout)
        return 0
    if mode == "first":
        if rank == 0:
            return first_launch(launch)
        time.sleep(2 * timeout)
        return 0
    launch()
    comm.synchronize()
    assert problem.worst_error(y) <= 1
    comm.barrier()
    if rank == 1:
        if mode == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(2 * timeout)
        return 0
    start = time.monotonic()
    launch()
    error = hang_error(comm, 10 * timeout)
    if error is None:
        return 1
    print(f"after {time.monotonic() - start:.2f} s: {error}", flush=True)
    for what in (comm.synchronize, comm.check, launch):
        try:
            what()
        except tw.HangError:
            continue
        return 2
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
