"""The fused all-reduce and RMS norm between virtual ranks of one GPU: what synchronising costs.

    python tests/benchmarks/virtual_ranks.py [result.json]

All ranks share one GPU's memory and multiprocessors, so this says nothing of links between GPUs: it
is the floor under a launch with two barriers, and finds a kernel that became slower without a
second GPU. CUDA graphs, interleaved, H = 8192, bf16; medians. The world of 1 has no barriers.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import tilewire as tw
import torch
from norm import EPS, Problem, allreduce_rmsnorm
from timing import Graphed, interleave, machine, write

H = 8192
ROWS = [1, 16, 64]
WORLDS = [1, 2, 4, 8]
ROUNDS = 25


def contender(comm: tw.Communicator, T: int) -> Graphed:
    problem = Problem(comm.size, "bf16", T, H)
    x = comm.window((T, H), tw.bf16)
    for rank, part in enumerate(problem.inputs):
        torch.from_dlpack(x.at(rank)).copy_(part)
    outputs = [problem.poisoned_output() for _ in range(comm.size)]

    def call() -> None:
        allreduce_rmsnorm[tw.auto](x, problem.gain, outputs, EPS)

    call()
    torch.cuda.synchronize()
    assert max(problem.worst_error(y) for y in outputs) <= 1
    return Graphed(f"world {comm.size}", call)


def main() -> None:
    worlds = [tw.init(virtual=str(size), device="cuda") for size in WORLDS]
    result = {"machine": machine(), "H": H, "dtype": "bf16", "unit": "us per launch", "rows": {}}
    for T in ROWS:
        work = [contender(comm, T) for comm in worlds]
        interleave(work, ROUNDS, before_each=torch.cuda.synchronize)
        result["rows"][T] = {each.name: round(each.median(), 3) for each in work}
        print(f"T={T:<5} " + "  ".join(f"{k} {v}" for k, v in result["rows"][T].items()))
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]), result)
    for comm in worlds:
        comm.check()
        comm.close()


if __name__ == "__main__":
    main()
