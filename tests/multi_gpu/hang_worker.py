"""One rank of a run in which rank 1 never launches the second kernel, or is killed before it.

Rank 0 exits with 3 where it got the HangError, and prints it.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import tilewire as tw
import torch
from norm import EPS, Problem, allreduce_rmsnorm


def main(mode: str) -> int:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    comm = tw.init()
    x = comm.window((16, 1024), tw.bf16)
    problem = Problem(comm.size, "bf16", 16, 1024)
    torch.from_dlpack(x).copy_(problem.inputs[rank])
    y = problem.poisoned_output()
    allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)
    comm.synchronize()
    assert problem.worst_error(y) <= 1
    comm.barrier()
    if rank == 1:
        if mode == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(2 * float(os.environ["TILEWIRE_TIMEOUT"]))
        return 0
    start = time.monotonic()
    allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)
    try:
        comm.synchronize()
    except tw.HangError as error:
        print(f"after {time.monotonic() - start:.2f} s: {error}", flush=True)
    else:
        return 1
    for what in (comm.check, lambda: allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)):
        try:
            what()
        except tw.HangError:
            continue
        return 2
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
