"""All-reduce and RMS norm: the fused kernel against NCCL's all-reduce and torch's norm.

    torchrun --nproc-per-node 2 tests/benchmarks/allreduce_rmsnorm.py [result.json]

Everything runs in CUDA graphs, interleaved, H = 8192, bf16; the figures are medians of rounds, of
the slowest rank. `eager` is torch.nn.functional.rms_norm, `compiled` the same under torch.compile;
both after torch.distributed.all_reduce over NCCL.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import tilewire as tw
import torch
import torch.distributed as dist
from norm import EPS, Problem, allreduce_rmsnorm
from timing import Graphed, interleave, machine, write
from torch.nn import functional

H = 8192
ROWS = [1, 16, 64, 512]
ROUNDS = 25


def slowest(microseconds: float) -> float:
    value = torch.tensor([microseconds], device="cuda")
    dist.all_reduce(value, dist.ReduceOp.MAX)
    return round(float(value), 3)


def contenders(comm: tw.Communicator, T: int) -> list[Graphed]:
    problem = Problem(comm.size, "bf16", T, H)
    x = comm.window((T, H), tw.bf16)
    torch.from_dlpack(x).copy_(problem.inputs[comm.rank])
    fused = problem.poisoned_output()
    allreduce_rmsnorm[tw.auto](x, problem.gain, fused, EPS)
    comm.synchronize()
    assert problem.worst_error(fused) <= 1

    # All-reduced in place again and again: the mean, which stays where it is, instead of the sum,
    # which would overflow. On real numbers, since zeros draw less power.
    buffer = problem.inputs[comm.rank].clone()
    norm = torch.compile(lambda x: functional.rms_norm(x, (H,), problem.gain, EPS), dynamic=False)

    def eager() -> torch.Tensor:
        dist.all_reduce(buffer, dist.ReduceOp.AVG)
        return functional.rms_norm(buffer, (H,), problem.gain, EPS)

    def compiled() -> torch.Tensor:
        dist.all_reduce(buffer, dist.ReduceOp.AVG)
        return norm(buffer)

    return [
        Graphed("fused", lambda: allreduce_rmsnorm[tw.auto](x, problem.gain, fused, EPS)),
        Graphed("eager", eager),
        Graphed("compiled", compiled),
    ]


def main() -> None:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    comm = tw.init()
    result = {"machine": machine(), "world": comm.size, "H": H, "dtype": "bf16", "rows": {}}
    for T in ROWS:
        work = contenders(comm, T)
        interleave(work, ROUNDS, before_each=dist.barrier)
        medians = {each.name: slowest(each.median()) for each in work}
        ratio = min(medians["eager"], medians["compiled"]) / medians["fused"]
        result["rows"][T] = medians | {"unfused_over_fused": round(ratio, 2)}
        if rank == 0:
            print(f"T={T:<5} " + "  ".join(f"{k} {v}" for k, v in result["rows"][T].items()))
    if rank == 0 and len(sys.argv) > 1:
        write(Path(sys.argv[1]), result)
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
