"""The all-reduce and RMS norm of the first example on GPUs: inputs, reference, bounds."""

from __future__ import annotations

from collections.abc import Callable

import torch
from norm_program import allreduce_rmsnorm

__all__ = ["DTYPES", "EPS", "SHAPES", "Problem", "Repeats", "allreduce_rmsnorm"]

EPS = 1e-6
SHAPES = [(1, 8192), (64, 8192), (4096, 8192), (7, 5120), (512, 4096), (33, 1000)]
DTYPES = ["bf16", "f16", "f32"]
TORCH_DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
# Half a unit in the last place of the result's dtype, doubled for sums that f32 rounding moves
# across a midpoint; for f32 itself, the rounding of a sum over a row.
RELATIVE_BOUNDS = {"bf16": 2.0**-8, "f16": 2.0**-10, "f32": 2.0**-18}
ABSOLUTE_BOUND = 4e-6


class Problem:
    """Inputs of all ranks, made from a seed on each of them, and what must come out."""

    def __init__(self, world: int, dtype: str, T: int, H: int, seed: int = 0):
        self.dtype = dtype
        generator = torch.Generator("cuda").manual_seed(seed)
        kind = {"device": "cuda", "generator": generator}
        self.inputs = [torch.randn(T, H, **kind).to(TORCH_DTYPES[dtype]) for _ in range(world)]
        self.gain = (torch.rand(H, **kind) + 0.5).to(TORCH_DTYPES[dtype])
        total = sum(each.double() for each in self.inputs)
        norm = torch.sqrt((total * total).mean(dim=1, keepdim=True) + EPS)
        self.expected = total / norm * self.gain.double()

    def poisoned_output(self) -> torch.Tensor:
        return torch.full_like(self.inputs[0], torch.nan)

    def worst_error(self, y: torch.Tensor) -> float:
        """The largest error in units of what rounding explains: at most 1 where y is right."""
        bound = RELATIVE_BOUNDS[self.dtype] * self.expected.abs() + ABSOLUTE_BOUND
        error = (y.double() - self.expected).abs() / bound
        return float(error.nan_to_num(nan=torch.inf).max())


class Repeats:
    """Runs the same computation again and again, each time on a poisoned output, without waiting
    for the GPU: the first result must be right, and all others have the same bits."""

    def __init__(self, y: torch.Tensor, is_right: Callable[[torch.Tensor], bool]):
        self.y = y
        self.is_right = is_right
        self.first: torch.Tensor | None = None
        self.differs = torch.zeros((), device=y.device, dtype=torch.bool)

    def __call__(self, run: Callable[[], None]) -> None:
        self.y.fill_(torch.nan)
        run()
        if self.first is None:
            self.first = self.y.clone()
            assert self.is_right(self.first)
        self.differs |= (self.y != self.first).any()

    def all_alike(self) -> bool:
        return self.first is not None and not bool(self.differs)
