"""Timing of what is compared: graphs, interleaved, medians; and where it ran."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import torch

CALLS_PER_GRAPH = 20
REPLAYS = 5


class Graphed:
    """A piece of work, recorded CALLS_PER_GRAPH times into one graph."""

    def __init__(self, name: str, call: Callable[[], None]):
        self.name = name
        self.call = call  # with all that it refers to: the graph holds addresses only
        self.microseconds: list[float] = []
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(CALLS_PER_GRAPH):
                call()

    def time(self) -> None:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.graph.replay()
        start.record()
        for _ in range(REPLAYS):
            self.graph.replay()
        end.record()
        end.synchronize()
        self.microseconds.append(1000 * start.elapsed_time(end) / (REPLAYS * CALLS_PER_GRAPH))

    def median(self) -> float:
        return statistics.median(self.microseconds)


def interleave(work: list[Graphed], rounds: int, before_each: Callable[[], None]) -> None:
    """A B A B …, so that clocks and heat are alike for all."""
    for _ in range(rounds):
        for each in work:
            before_each()
            each.time()


def machine() -> dict:
    query = "--query-gpu=name,driver_version"
    smi = subprocess.run(
        ["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return {
        "gpus": smi.stdout.strip().splitlines(),
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
    }


def write(path: Path, result: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
