"""Problems of `tilewire.ops` on GPUs, for one rank of several or a controller of virtual ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import ops_problems
import tilewire as tw
import torch
from ops_problems import PARTS, Problem
from tilewire import ops
from tilewire.host_view import ranks_of

BITS = {"bfloat16": ("int16", torch.bfloat16), "float8_e4m3fn": ("uint8", torch.float8_e4m3fn)}
TILING = ops.Tiling(BM=64, BN=128, BK=64, STAGES=4)


def to_gpu(array: np.ndarray) -> torch.Tensor:
    """A copy; PyTorch doesn't know NumPy's small floats."""
    array = np.ascontiguousarray(array)
    if array.dtype.name not in BITS:
        return torch.from_numpy(array).cuda()
    bits, dtype = BITS[array.dtype.name]
    return torch.from_numpy(array.view(bits)).cuda().view(dtype)


def to_host(tensor: torch.Tensor) -> np.ndarray:
    return tensor.double().cpu().numpy()


def product_on_gpu(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """In float64, where that is fast."""
    return to_host(to_gpu(a).double() @ to_gpu(b).double().t())


ops_problems.float64_product = product_on_gpu


class Run:
    """One problem's arrays on the GPU, and its calls."""

    def __init__(self, comm: tw.Communicator, problem: Problem) -> None:
        self.comm, self.problem, self.ranks = comm, problem, ranks_of(comm)
        self.a = [to_gpu(problem.a(rank)) for rank in self.ranks]
        self.b = [to_gpu(problem.b(rank)) for rank in self.ranks]
        self.arrays = {
            part: [to_gpu(problem.part(part, rank)) for rank in self.ranks]
            for part in problem.parts
            if part != "scale"
        }
        scale = {"scale": problem.scale} if "scale" in problem.parts else {}
        given = {part: self._given(arrays) for part, arrays in self.arrays.items()}
        self.epilogue = ops.Epilogue(activation=problem.activation, **scale, **given)
        self.out = None
        if problem.op != "gemm_all_reduce":
            self.out = [self._poisoned(rank) for rank in self.ranks]

    def _given(self, arrays: list[Any]) -> Any:
        return arrays if self.comm.rank is None else arrays[0]

    def _poisoned(self, rank: int) -> torch.Tensor:
        rows = self.problem.rows(rank)
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
        shape = (rows.stop - rows.start, self.problem.columns)
        return torch.full(shape, torch.nan, device="cuda", dtype=dtype[self.problem.dtype])

    def poison(self) -> None:
        for each in self.out or []:
            each.fill_(torch.nan)

    def take(self, other: Run) -> None:
        """The inputs of another problem of the same shape, in this one's memory."""
        self.problem = other.problem
        for mine, theirs in zip([*self.a, *self.b], [*other.a, *other.b], strict=True):
            mine.copy_(theirs)
        for part, arrays in self.arrays.items():
            for mine, theirs in zip(arrays, other.arrays[part], strict=True):
                mine.copy_(theirs)

    def __call__(self, op: Any) -> list[torch.Tensor]:
        """Each rank's result."""
        out = None if self.out is None else self._given(self.out)
        more = {} if self.problem.is_reducing else {"m": self.problem.M}
        found = op(self._given(self.a), self._given(self.b), out, epilogue=self.epilogue, **more)
        return found if self.comm.rank is None else [found]

    def check(self, results: list[torch.Tensor]) -> None:
        for rank, result in zip(self.ranks, results, strict=True):
            self.problem.check(to_host(result), rank)


# Name → the operation and its options.
OPS: dict[str, tuple[str, dict[str, Any]]] = {
    "gemm_reduce_scatter": ("gemm_reduce_scatter", {}),
    "all_gather_gemm by stores": ("all_gather_gemm", {"transport": "stores"}),
    "all_gather_gemm by copies": ("all_gather_gemm", {"transport": "copies"}),
    "gemm_all_reduce": ("gemm_all_reduce", {"way": "owners"}),
    "gemm_all_reduce by channels": ("gemm_all_reduce", {"way": "channels"}),
    "gemm_all_reduce by flags": ("gemm_all_reduce", {"way": "flags"}),
}


def options_for(comm: tw.Communicator, name: str) -> dict[str, Any]:
    """Virtual ranks share a GPU: where the grid isn't tw.auto, it must leave room for all."""
    options = dict(OPS[name][1])
    if comm.rank is None and options.get("way") in ("channels", "flags"):
        options["grid"] = max(120 // comm.size, 1)
    return options


FORMS: list[dict[str, Any]] = [
    {},
    {"parts": ("bias",), "activation": "gelu"},
    {"parts": ("bias", "residual")},
    {"parts": ("scale", "row_scale", "column_scale")},
    {"activation": "silu_and_mul"},
    {"parts": PARTS, "activation": "silu"},
]
