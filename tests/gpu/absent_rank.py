"""A process of two virtual ranks, of which rank 1 never launches the second kernel.

Prints what rank 0's HangError says and after how many seconds `comm.check` and `comm.synchronize`
raised it, then ends as a program does that doesn't catch it.
"""

from __future__ import annotations

import time

import tilewire as tw
import torch
from norm import EPS, Problem, allreduce_rmsnorm


@tw.kernel
def meet_often(y: tw.Tensor["N"]):
    """Another kernel, whose waits come first in the process's numbering."""
    for _ in tw.unroll(3):
        tw.barrier()
    tw.store(y[0], 1.0)


def seconds_until_told(comm: tw.Communicator, start: float) -> float:
    while time.monotonic() < start + 60:
        time.sleep(0.01)
        try:
            comm.check()
        except tw.HangError:
            return time.monotonic() - start
    raise AssertionError("nobody gave up")


def main() -> None:
    comm = tw.init(virtual="2", device="cuda")
    x = comm.window((256, 1024), tw.bf16)
    problem = Problem(comm.size, "bf16", 256, 1024)
    for rank, part in enumerate(problem.inputs):
        torch.from_dlpack(x.at(rank)).copy_(part)
    meet_often[1]([torch.zeros(1, device="cuda") for _ in range(comm.size)])
    outputs = [problem.poisoned_output() for _ in range(comm.size)]
    allreduce_rmsnorm[tw.auto](x, problem.gain, outputs, EPS)
    comm.synchronize()
    assert max(problem.worst_error(y) for y in outputs) <= 1

    comm._world.leave_out([1])
    start = time.monotonic()
    allreduce_rmsnorm[tw.auto](x, problem.gain, outputs, EPS)
    print(f"check: {seconds_until_told(comm, start):.2f} s", flush=True)
    try:
        comm.synchronize()
    finally:
        print(f"synchronize: {time.monotonic() - start:.2f} s", flush=True)


if __name__ == "__main__":
    main()
