"""Problems for `tilewire.ops`: inputs of all ranks, and what each must get, in float64.

Operands are such that results are about 1 in size, so that an error is relative to 1 or to the
value, whichever is larger. Everything is NumPy's; `place` moves an array to where its rank is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from tilewire import ops
from tilewire.ops import share_of

DTYPES = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
}
# What rounding explains, relative to 1 or the value: of the result, and of terms that cancel.
# f32 results are those of products of 16-bit floats.
TOLERANCE = {"f32": 2.0**-16, "f16": 2.0**-8, "bf16": 2.0**-5}

REDUCING = ("gemm_reduce_scatter", "gemm_all_reduce")
PARTS = ("scale", "row_scale", "column_scale", "bias", "residual")


def place_as_is(array: np.ndarray) -> np.ndarray:
    return array


def float64_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a · bᵀ; on GPUs another one takes its place."""
    return a.astype(np.float64) @ b.astype(np.float64).T


def activated(x: np.ndarray, activation: str | None) -> np.ndarray:
    if activation == "gelu":
        return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2)))
    if activation == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    if activation == "relu":
        return np.maximum(x, 0)
    if activation == "silu":
        return x / (1 + np.exp(-x))
    if activation == "silu_and_mul":
        gate, up = halves(x)
        return activated(gate, "silu") * up
    return x


def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is gated, and by what, of columns as `ops.alternate_halves` lays them."""
    blocks = x.reshape(len(x), x.shape[1] // (2 * ops.HALF), 2, ops.HALF)
    gate, up = blocks[:, :, 0], blocks[:, :, 1]
    return gate.reshape(len(x), -1), up.reshape(len(x), -1)


@dataclass(frozen=True)
class Problem:
    """One call by all ranks. K is the sum over the ranks where they reduce, each rank's otherwise.
    `parts` and `activation` are the epilogue's."""

    op: str
    size: int
    M: int
    N: int
    K: int
    operand: str = "bf16"
    dtype: str = "f32"
    parts: tuple[str, ...] = ()
    activation: str | None = None
    seed: int = 0
    arrays: dict[Any, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_reducing(self) -> bool:
        return self.op in REDUCING

    @property
    def columns(self) -> int:
        return self.N // 2 if self.activation == "silu_and_mul" else self.N

    def rows(self, rank: int) -> slice:
        """Of the result that are this rank's."""
        if self.op == "gemm_reduce_scatter":
            return share_of(self.M, self.size, rank)
        return slice(0, self.M)

    def _random(self, key: tuple, shape: Any, dtype: str, scale: float = 1.0) -> np.ndarray:
        if key not in self.arrays:
            generator = np.random.default_rng((self.seed, *key))
            self.arrays[key] = (scale * generator.standard_normal(shape)).astype(DTYPES[dtype])
        return self.arrays[key]

    def a(self, rank: int) -> np.ndarray:
        whole = self._random((0,), (self.M, self.K), self.operand)
        if self.is_reducing:
            return whole[:, share_of(self.K, self.size, rank)]
        return whole[share_of(self.M, self.size, rank)]

    def b(self, rank: int) -> np.ndarray:
        scale = 1 / np.sqrt(max(self.K, 1))
        if self.operand == "e4m3":
            scale = 1.0  # a narrow range: `scale` comes behind
        if not self.is_reducing:
            return self._random((1, rank), (self.N, self.K), self.operand, scale)
        whole = self._random((1,), (self.N, self.K), self.operand, scale)
        return whole[:, share_of(self.K, self.size, rank)]

    def part(self, name: str, rank: int) -> np.ndarray:
        """An array of the epilogue."""
        own = rank if name in ("row_scale", "column_scale") and self.is_reducing else 0
        key = (2 + PARTS.index(name), own)
        if name == "row_scale":
            return np.abs(self._random(key, self.M, "f32")) + np.float32(0.1)
        if name == "column_scale":
            return np.abs(self._random(key, self.N, "f32")) + np.float32(0.1)
        if name == "bias":
            return self._random(key, self.N, "bf16")
        return self._random(key, (self.M, self.columns), "bf16")[self.rows(rank)]

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(max(self.K, 1)) if self.operand == "e4m3" else 0.75

    def epilogue(self, rank: int, place: Callable = place_as_is) -> ops.Epilogue:
        given = {
            name: self.scale if name == "scale" else place(self.part(name, rank))
            for name in self.parts
        }
        return ops.Epilogue(activation=self.activation, **given)

    def _term(self, rank: int) -> np.ndarray:
        whole = self._random((0,), (self.M, self.K), self.operand)
        a = self.a(rank) if self.is_reducing else whole
        term = float64_product(a, self.b(rank))
        if "scale" in self.parts:
            term *= np.float32(self.scale).astype(np.float64)
        if "row_scale" in self.parts:
            term *= self.part("row_scale", rank)[:, None]
        if "column_scale" in self.parts:
            term *= self.part("column_scale", rank)[None, :]
        return term

    def _summed(self, rank: int) -> np.ndarray:
        """The product with its scales and bias, before the activation: this rank's rows."""
        terms = range(self.size) if self.is_reducing else [rank]
        total = sum(self._term(r) for r in terms)
        if "bias" in self.parts:
            total = total + self.part("bias", rank).astype(np.float64)
        return total[self.rows(rank)]

    def expected(self, rank: int) -> np.ndarray:
        """This rank's result, in float64."""
        result = activated(self._summed(rank), self.activation)
        if "residual" in self.parts:
            result = result + self.part("residual", rank).astype(np.float64)
        return result

    def make(self, comm: Any, **options: Any) -> Any:
        """The object of `tilewire.ops`, for this shape and smaller ones."""
        dtype = DTYPES[self.dtype]
        if self.op == "all_gather_gemm":
            operand = DTYPES[self.operand]
            return ops.AllGatherGemm(
                comm, dtype, max_m=self.M, k=self.K, operand_dtype=operand, **options
            )
        kind = ops.GemmReduceScatter if self.op == "gemm_reduce_scatter" else ops.GemmAllReduce
        return kind(comm, dtype, max_m=self.M, max_n=self.N, **options)

    def call(self, op: Any, rank: int, out: Any = None, place: Callable = place_as_is) -> Any:
        named = {} if self.is_reducing else {"m": self.M}
        return op(
            place(self.a(rank)),
            place(self.b(rank)),
            out,
            epilogue=self.epilogue(rank, place),
            **named,
        )

    def error(self, found: np.ndarray, rank: int) -> float:
        """How far it is off, relative to 1 or to the value; inf where it is NaN. Of a gated value
        each factor is rounded, which counts by the other one: relative to both as well."""
        expected = self.expected(rank)
        assert found.shape == expected.shape, (found.shape, expected.shape)
        size = np.maximum(np.abs(expected), 1)
        if self.activation == "silu_and_mul":
            size = np.maximum.reduce([size, *map(np.abs, halves(self._summed(rank)))])
        off = np.abs(found.astype(np.float64) - expected) / size
        return float(np.nan_to_num(off, nan=np.inf).max(initial=0))

    def check(self, found: np.ndarray, rank: int) -> None:
        error = self.error(found, rank)
        # Of gated values the measure knows what their factors' rounding does, the bound needn't.
        bound = TOLERANCE[self.dtype] / (2 if self.activation == "silu_and_mul" else 1)
        assert error <= bound, f"rank {rank} of {self}: {error:.2e} off, {bound:.2e} is the bound"
