"""How products are timed: rested and sustained, candidates in turn, clocks beside."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from product_report import Times, clock_summary

CALLS = 10  # of one graph, where nothing else is said
QUERY = "--query-gpu=clocks.sm,power.draw,temperature.gpu"


class Candidate:
    """`calls` calls in one graph, each with the next set of buffers. `is_eager`: no graph, for what
    can't be captured."""

    def __init__(
        self,
        name: str,
        call: Callable[[int], None],
        num_sets: int,
        is_eager: bool = False,
        calls: int = CALLS,
    ) -> None:
        """`call(i)` runs it on buffer set number i."""
        self.name, self.call = name, call  # with all that it refers to: a graph has addresses only
        self.num_sets, self.calls, self.graphs = num_sets, calls, []
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for i in range(min(num_sets, 3)):
                call(i)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        if is_eager:
            return
        for first in range(0, min(num_sets, 4 * calls), calls):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for i in range(calls):
                    call((first + i) % num_sets)
            self.graphs.append(graph)

    def replay(self, turn: int) -> None:
        if self.graphs:
            self.graphs[turn % len(self.graphs)].replay()
            return
        for i in range(self.calls):
            self.call((turn * self.calls + i) % self.num_sets)

    def microseconds(self, replays: int = 1) -> float:
        """Per call."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for turn in range(replays):
            self.replay(turn)
        end.record()
        end.synchronize()
        return 1000 * start.elapsed_time(end) / (replays * self.calls)


@dataclass
class Regime:
    """`pause_s` before each figure, which is of about `seconds` of calls, at least one graph."""

    name: str
    pause_s: float
    seconds: float
    rounds: int

    def measure(
        self,
        candidates: Sequence[Candidate],
        before_each: Callable[[], None] = lambda: None,
        of_all_ranks: Callable[[float], float] = lambda us: us,
    ) -> Times:
        """A B C A B C …, so that clocks and heat are alike for all. `before_each`: ranks meet;
        `of_all_ranks`: what they make of a time, so that all do as many calls."""
        replays = {each.name: 1 for each in candidates}
        for each in candidates:
            each.replay(0)
            if self.seconds > 0:
                before_each()
                us = of_all_ranks(each.microseconds())
                replays[each.name] = max(1, round(1e6 * self.seconds / (us * each.calls)))
        figures: dict[str, list[float]] = {each.name: [] for each in candidates}
        self._warm(candidates, before_each, replays)
        for _ in range(self.rounds):
            for each in candidates:
                torch.cuda.synchronize()
                time.sleep(self.pause_s)
                before_each()
                figures[each.name].append(each.microseconds(replays[each.name]))
        return Times(figures)

    def _warm(
        self,
        candidates: Sequence[Candidate],
        before_each: Callable[[], None],
        replays: dict[str, int],
    ) -> None:
        """About two seconds of calls: the heat of a long loop."""
        if self.seconds == 0:
            return
        for turn in range(max(1, round(2 / self.seconds))):
            each = candidates[turn % len(candidates)]
            before_each()
            each.microseconds(replays[each.name])


def regimes(names: Sequence[str], rounds: int) -> list[Regime]:
    """ "rested": half a second's rest, then one graph of calls. "sustained": calls of 0.2 s in a
    row, and no rest between one candidate and the next."""
    known = {
        "rested": Regime("rested", pause_s=0.5, seconds=0, rounds=rounds),
        "sustained": Regime("sustained", pause_s=0, seconds=0.2, rounds=rounds),
    }
    return [known[name] for name in names]


@dataclass
class Clocks:
    """What nvidia-smi says while a block runs; it only asks."""

    device: int
    lines: list[str] = field(default_factory=list)

    def __enter__(self) -> Clocks:
        uuid = getattr(torch.cuda.get_device_properties(self.device), "uuid", None)
        device = str(self.device) if uuid is None else f"GPU-{uuid}"
        command = ["nvidia-smi", "-i", device, QUERY, "--format=csv,noheader,nounits"]
        try:
            self.process = subprocess.Popen(
                [*command, "-lms", "100"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError:
            self.process = None
            return self
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.reader.join()

    def summary(self) -> dict:
        return clock_summary(self.lines)
