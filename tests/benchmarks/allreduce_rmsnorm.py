"""All-reduce and RMS norm: the fused kernel against NCCL's all-reduce and torch's norm.

    torchrun --nproc-per-node 2 tests/benchmarks/allreduce_rmsnorm.py [result.json]

Everything runs in CUDA graphs, interleaved, H = 8192, bf16; the figures are medians of rounds, of
the slowest rank. `fused` launches with the cooperative attribute, `exclusive` without
(`tw.init(exclusive=True)`: in each graph nothing else waits). `channels` exchanges rows over
channels without a barrier, and adds a residual too: the best of a few grids. `eager` is
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
from all_reduce_kernels import norm_over_channels
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


def over_channels(comm: tw.Communicator, problem: Problem) -> list[Graphed]:
    x = problem.inputs[comm.rank]
    T = x.shape[0]
    residual = torch.randn_like(problem.inputs[0])
    dist.broadcast(residual, 0)
    hidden, y = problem.poisoned_output(), problem.poisoned_output()
    sums = sum(each.double() for each in problem.inputs) + residual.double()
    expected = sums * torch.rsqrt((sums * sums).mean(dim=1, keepdim=True) + EPS)
    expected *= problem.gain.double()
    ch = comm.channel((comm.size, T), (H,), tw.bf16, exchange=True, signed_zero=False)
    found = []
    for grid in sorted({min(T, grid) for grid in (64, 128, 132, 256, 264, 512)}):

        def call(grid: int = grid) -> None:
            norm_over_channels[grid](x, residual, problem.gain, hidden, y, ch, EPS)

        try:
            call()
        except tw.UserError as error:  # on all ranks alike
            assert "can't be resident at once" in str(error)
            continue
        comm.synchronize()
        assert ((y.double() - expected).abs() <= 2.0**-8 * expected.abs() + 1e-5).all()
        found.append(Graphed(f"channels grid={grid}", call))
    return found


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
        *over_channels(exclusive, problem),
        Graphed("eager", eager),
        Graphed("compiled", compiled),
    ]


def measure(comm: tw.Communicator, exclusive: tw.Communicator, T: int) -> dict[str, float]:
    work = contenders(comm, exclusive, T)
    interleave(work, ROUNDS, before_each=dist.barrier)
    result = {each.name: slowest(each.median()) for each in work}
    unfused = min(result["eager"], result["compiled"])
    result["channels"] = min(us for name, us in result.items() if name.startswith("channels"))
    for name in ("fused", "exclusive", "channels"):
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
            if len(sys.argv) > 1:
                write(Path(sys.argv[1]), result)
    exclusive.close()
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
