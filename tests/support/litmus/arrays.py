"""Where litmus tests keep what they count, and what they count with."""

from typing import Any

import numpy as np
import tilewire as tw
from tilewire import objects


def zeros(comm: tw.Communicator, shape: Any, dtype: str = "int32") -> Any:
    """An array where kernels of `comm` run; one for each rank where this process drives all."""
    if comm.rank is None:
        return [_zeros(comm, shape, dtype) for _ in range(comm.size)]
    return _zeros(comm, shape, dtype)


def _zeros(comm: tw.Communicator, shape: Any, dtype: str) -> Any:
    if not comm.target.is_cuda:
        return np.zeros(shape, dtype)
    import torch

    return torch.zeros(shape, dtype=getattr(torch, dtype), device=comm.device)


def make(comm: tw.Communicator, kind: str, *arguments: Any, start: int = 0) -> Any:
    """Semaphores or channels; `start`: how far their counters have come already."""
    if kind == "semaphore":
        return comm._make(objects.semaphore_request(*arguments, start=start))
    network = comm.lsa_size < comm.size
    return comm._make(objects.channel_request(comm.size, *arguments, start=start, network=network))


def total(comm: tw.Communicator, counts: Any) -> int:
    """The sum of a kernel's counts, once it has ended."""
    if comm.target.is_cuda:
        comm.synchronize()
    of_ranks = counts if isinstance(counts, list) else [counts]
    return sum(int(each.sum()) for each in of_ranks)


def repeat(comm: tw.Communicator, launch: Any, times: int) -> None:
    """On GPUs, mostly from a graph."""
    if not comm.target.is_cuda or times < 200:
        for _ in range(times):
            launch()
        return
    import torch

    for _ in range(3):
        launch()
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            launch()
    for n in range(times // 100):
        graph.replay()
        if n % 7 == 0:
            launch()
