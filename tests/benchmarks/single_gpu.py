"""Kernels over rows on one GPU against PyTorch, eager and compiled, and a copy of the same bytes.

    python tests/benchmarks/single_gpu.py [result.json]

bf16, (8192, 8192) and (4096, 128), everything in CUDA graphs, interleaved A B A B; figures are
medians of rounds in microseconds. tilewire's kernels run in several forms, named by rows per
program instance and grid: `auto` is tw.auto, `each` an instance for every block of rows. `copy`
moves as many bytes from device memory to device memory as the kernel reads and writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import row_kernels
import tilewire as tw
import torch
from timing import Graphed, interleave, machine, write
from torch.nn import functional

EPS = 1e-5
ROUNDS = 25
SHAPES = {(8192, 8192): [1, 2], (4096, 128): [8, 16, 32, 64]}
"""Shape → the rows per program instance to try."""


@dataclass
class Problem:
    """Arguments of one shape; x differs from row to row in size, so that a wrong row is seen."""

    T: int
    H: int

    def __post_init__(self) -> None:
        kind = {"device": "cuda", "generator": torch.Generator("cuda").manual_seed(1)}
        grow = 1 + torch.arange(self.T, device="cuda")[:, None] % 7
        self.x = (torch.randn(self.T, self.H, **kind) * grow).bfloat16()
        self.gain = (torch.rand(self.H, **kind) + 0.5).bfloat16()
        self.bias = torch.randn(self.H, **kind).bfloat16()

    def like_x(self) -> torch.Tensor:
        return torch.full_like(self.x, torch.nan)

    def like_rows(self) -> torch.Tensor:
        return torch.full_like(self.x[:, 0], torch.nan)


@dataclass
class Contest:
    """One kernel: what PyTorch does, what tilewire is given before and behind its output."""

    kernel: tw.kernel
    torch_does: Callable[[Problem], Callable[[torch.Tensor], torch.Tensor]]
    before: Callable[[Problem], tuple]
    after: tuple = ()
    keeps_rows: bool = True

    def output(self, problem: Problem) -> torch.Tensor:
        return problem.like_x() if self.keeps_rows else problem.like_rows()

    def num_bytes(self, problem: Problem) -> int:
        return problem.x.nbytes + self.output(problem).nbytes

    def bound(self, problem: Problem, expected: torch.Tensor) -> torch.Tensor:
        """Rounding to bf16, and of f32 in sums that cancel: relative to all that is added."""
        bound = 2.0**-8 * expected.abs() + 1e-5
        return bound if self.keeps_rows else bound + 2e-6 * problem.x.double().abs().sum(1)


CONTESTS = {
    "softmax": Contest(
        row_kernels.softmax, lambda p: lambda x: torch.softmax(x, 1), lambda p: (p.x,)
    ),
    "layer_norm": Contest(
        row_kernels.layer_norm,
        lambda p: (
            lambda x: functional.layer_norm(x, (p.H,), p.gain.to(x.dtype), p.bias.to(x.dtype), EPS)
        ),
        lambda p: (p.x, p.gain, p.bias),
        (EPS,),
    ),
    "rms_norm": Contest(
        row_kernels.rms_norm,
        lambda p: lambda x: functional.rms_norm(x, (p.H,), p.gain.to(x.dtype), EPS),
        lambda p: (p.x, p.gain),
        (EPS,),
    ),
    "gelu_bias": Contest(
        row_kernels.gelu_bias,
        lambda p: lambda x: functional.gelu(x + p.bias.to(x.dtype)),
        lambda p: (p.x, p.bias),
    ),
    "row_sum": Contest(
        row_kernels.row_sum, lambda p: lambda x: x.sum(1), lambda p: (p.x,), keeps_rows=False
    ),
}


def tilewire_forms(contest: Contest, problem: Problem, rows: list[int]) -> list[Graphed]:
    """Every form that is right; AssertionError where one isn't."""
    expected = contest.torch_does(problem)(problem.x.double())
    bound = contest.bound(problem, expected)
    forms = []
    for count in rows:
        for name, grid in (("auto", tw.auto), ("each", -(-problem.T // count))):
            y = contest.output(problem)
            arguments = (*contest.before(problem), y, *contest.after)

            def call(arguments=arguments, grid=grid, count=count) -> None:
                contest.kernel[grid](*arguments, ROWS=count)

            call()
            torch.cuda.synchronize()
            worst = float(((y.double() - expected).abs() / bound).nan_to_num(nan=torch.inf).max())
            assert worst <= 1, f"{contest.kernel.name}, {count} rows, {name}: {worst} x the bound"
            forms.append(Graphed(f"tilewire {count} {name}", call))
    return forms


def copy_of(num_bytes: int) -> Callable[[], None]:
    source = torch.randint(0, 255, (num_bytes // 2,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def measure(contest: Contest, problem: Problem, rows: list[int]) -> dict:
    function = contest.torch_does(problem)
    compiled = torch.compile(function, dynamic=False)
    forms = tilewire_forms(contest, problem, rows)
    work = [
        *forms,
        Graphed("eager", lambda: function(problem.x)),
        Graphed("compiled", lambda: compiled(problem.x)),
        Graphed("copy", copy_of(contest.num_bytes(problem))),
    ]
    interleave(work, ROUNDS, before_each=lambda: None)
    times = {each.name: round(each.median(), 3) for each in work}
    best = min((each.name for each in forms), key=lambda name: times[name])
    ours, torchs = times[best], min(times["eager"], times["compiled"])
    return {
        "microseconds": times,
        "best": best,
        "torch_over_tilewire": round(torchs / ours, 3),
        "copy_over_tilewire": round(times["copy"] / ours, 3),
        "gigabytes_per_second": round(contest.num_bytes(problem) / ours / 1e3),
    }


def main() -> None:
    result = {"machine": machine(), "dtype": "bf16", "kernels": {}}
    print(f"{'kernel':<11} {'shape':<12} {'best':<17} {'us':>8} {'eager':>8} {'compiled':>8} "
          f"{'copy':>8} {'torch/tw':>8} {'copy/tw':>8}")  # fmt: skip
    for shape, rows in SHAPES.items():
        problem = Problem(*shape)
        for name, contest in CONTESTS.items():
            measured = measure(contest, problem, rows)
            result["kernels"][f"{name} {shape}"] = measured
            times, best = measured["microseconds"], measured["best"]
            print(f"{name:<11} {shape!s:<12} {best:<17} {times[best]:8.2f} {times['eager']:8.2f} "
                  f"{times['compiled']:8.2f} {times['copy']:8.2f} "
                  f"{measured['torch_over_tilewire']:8.3f} {measured['copy_over_tilewire']:8.3f}",
                  flush=True)  # fmt: skip
            if len(sys.argv) > 1:
                write(Path(sys.argv[1]), result)
    for name, measured in result["kernels"].items():
        print(name, measured["microseconds"])


if __name__ == "__main__":
    main()
