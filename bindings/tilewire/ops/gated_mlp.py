"""The gated MLP with weights split over the ranks."""

from __future__ import annotations

from typing import Any

import tilewire as tw
from tilewire.ops.all_gather import AllGatherGemm
from tilewire.ops.arrays import empty, for_launch, matrix, per_rank
from tilewire.ops.epilogue import NOTHING, Epilogue
from tilewire.ops.reduce_scatter import GemmReduceScatter


class GatedMlp:
    """`y = (silu(x_all · gateᵀ) · (x_all · upᵀ)) · downᵀ (+ residual)`, of which each rank gets its
    rows: all-gather, GEMM and silu-and-mul in one kernel, GEMM and reduce-scatter in another.

    Rank r has rows `share_of(M, size, r)` of x, [rows, hidden], and F_r of the inner columns:
    `gate_up` is `alternate_halves(gate, up)` of its rows of both weights, [F_r, hidden], and `down`
    [hidden, F_r]; F_r may differ by rank. M ≤ `max_m`. What lies between the products is [M, F_r]
    of `dtype`, in a new array.

    Numbers, memory and order are those of `AllGatherGemm` and `GemmReduceScatter`, of which it has
    one each: `up` and `down`.
    """

    def __init__(
        self,
        comm: tw.Communicator,
        dtype: Any,
        *,
        max_m: int,
        hidden: int,
        inner: int = 8192,
        **options: Any,
    ) -> None:
        """`inner`: F of most ranks, for which tiles are chosen. `options`: those of
        `FusedProduct`."""
        self.comm = comm
        self.up = AllGatherGemm(comm, dtype, max_m=max_m, k=hidden, n=2 * inner, **options)
        self.down = GemmReduceScatter(comm, dtype, max_m=max_m, max_n=hidden, **options)

    def __call__(
        self,
        x: Any,
        gate_up: Any,
        down: Any,
        out: Any = None,
        *,
        m: int | None = None,
        residual: Any = None,
    ) -> Any:
        """This rank's rows of y, in `out` or a new array. `m`: M, where the ranks' parts differ.
        `residual`: [rows, hidden], often x itself."""
        shards = per_rank(self.comm, x, "gated_mlp: `x`")
        M = matrix(shards[0], "gated_mlp: `x`").rows * self.comm.size if m is None else m
        inner = []
        for shard, each in zip(shards, per_rank(self.comm, down, "gated_mlp: `down`"), strict=True):
            columns = matrix(each, "gated_mlp: `down`").columns
            inner.append(empty(shard, (M, columns), self.up.dtype, "gated_mlp"))
        between = for_launch(self.comm, inner)
        self.up(x, gate_up, between, m=M, epilogue=Epilogue(activation="silu_and_mul"))
        epilogue = NOTHING if residual is None else Epilogue(residual=residual)
        return self.down(between, down, out, epilogue=epilogue)
