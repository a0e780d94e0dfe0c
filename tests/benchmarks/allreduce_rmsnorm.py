"""All-reduce and RMS norm: the fused kernel against NCCL's all-reduce and torch's norm.

    torchrun --nproc-per-node 2 tests/benchmarks/allreduce_rmsnorm.py [result.json]

Everything runs in CUDA graphs, interleaved, H = 8192, bf16; the figures are medians of rounds, of
the slowest rank. `fused` launches with the cooperative attribute, `exclusive` without
(`tw.init(exclusive=True)`: in each graph nothing else waits). `eager` is
torch.nn.functional.rms_norm, `compiled` the same under torch.compile; both after
torch.distributed.all_reduce over NCCL.
"""

from __future__ import annotations

import gc
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


def fused(comm: tw.Communicator, problem: Problem, name: str) -> Graphed:
    x = comm.window(problem.inputs[0].shape, tw.bf16)
    torch.from_dlpack(x).copy_(problem.inputs[comm.rank])
    y = problem.poisoned_output()

    def call() -> None:
        allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)

    call()
    comm.synchronize()
    assert problem.worst_error(y) <= 1
    return Graphed(name, call)


def contenders(comm: tw.Communicator, exclusive: tw.Communicator, T: int) -> list[Graphed]:
    problem = Problem(comm.size, "bf16", T, H)
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
        fused(comm, problem, "fused"),
        fused(exclusive, problem, "exclusive"),
        Graphed("eager", eager),
        Graphed("compiled", compiled),
    ]


def measure(comm: tw.Communicator, exclusive: tw.Communicator, T: int) -> dict[str, float]:
    work = contenders(comm, exclusive, T)
    interleave(work, ROUNDS, before_each=dist.barrier)
    result = {each.name: slowest(each.median()) for each in work}
    unfused = min(result["eager"], result["compiled"])
    for name in ("fused", "exclusive"):
        result[f"unfused_over_{name}"] = round(unfused / result[name], 3)
    # NCCL can't end while graphs hold its kernels.
    work.clear()
    gc.collect()
    torch.cuda.synchronize()
    return result


def main() -> None:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    comm, exclusive = tw.init(), tw.init(exclusive=True)
    result = {"machine": machine(), "world": comm.size, "H": H, "dtype": "bf16", "rows": {}}
    for T in ROWS:
        result["rows"][T] = measure(comm, exclusive, T)
        if rank == 0:
            print(f"T={T:<5} " + "  ".join(f"{k} {v}" for k, v in result["rows"][T].items()))
    if rank == 0 and len(sys.argv) > 1:
        write(Path(sys.argv[1]), result)
    exclusive.close()
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
