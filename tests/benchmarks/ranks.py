"""What benchmarks of several GPUs share: a rank's set-up, sweeps over blocks and grids, tables."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

# NVLink multicast stays off: nothing here needs it.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

import torch
import torch.distributed as dist
from timing import Graphed, interleave

SWEEP_ROUNDS = 3


def start() -> int:
    """Joins PyTorch's NCCL group; this process's GPU."""
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    return rank


def slowest(microseconds: float) -> float:
    value = torch.tensor([microseconds], device="cuda")
    dist.all_reduce(value, dist.ReduceOp.MAX)
    return round(float(value), 3)


def release() -> None:
    """NCCL can't end, nor memory be freed, while graphs hold its kernels."""
    gc.collect()
    torch.cuda.synchronize()


@dataclass
class Contender:
    """Calls that do the same, of which the fastest counts; `choices` say what they differ in."""

    name: str
    calls: dict[str, Callable[[], None]] = field(default_factory=dict)
    choice: str = ""

    def graphed(self, before_each: Callable[[], None]) -> Graphed:
        """The fastest call, as a graph, by the slowest rank: all ranks choose alike."""
        graphs = {choice: Graphed(self.name, call) for choice, call in self.calls.items()}
        if len(graphs) > 1:
            interleave(list(graphs.values()), SWEEP_ROUNDS, before_each)
            figures = {choice: slowest(each.median()) for choice, each in graphs.items()}
            self.choice = min(figures, key=lambda choice: figures[choice])
        else:
            self.choice = next(iter(graphs))
        best = graphs[self.choice]
        best.microseconds.clear()
        return best


def compare(contenders: Iterable[Contender], rounds: int) -> dict[str, dict]:
    """Name → microseconds of the slowest rank, and the choice that was fastest."""
    contenders = [each for each in contenders if each.calls]
    work = [each.graphed(dist.barrier) for each in contenders]
    interleave(work, rounds, before_each=dist.barrier)
    result = {
        each.name: {"us": slowest(graph.median()), "choice": each.choice}
        for each, graph in zip(contenders, work, strict=True)
    }
    work.clear()
    release()
    return result


def size_name(num_bytes: int) -> str:
    return f"{num_bytes >> 20} MiB" if num_bytes >= 1 << 20 else f"{num_bytes >> 10} KiB"
