"""GEMM and all-reduce."""

from __future__ import annotations

from typing import Any

import tilewire as tw
from tilewire.errors import UserError
from tilewire.ops.arrays import for_launch, host_view
from tilewire.ops.choice import WAY_OF_FEW, most_rows_to_all
from tilewire.ops.epilogue import HALF, NOTHING, Epilogue
from tilewire.ops.few_rows import FewRows
from tilewire.ops.fused_product import Operands
from tilewire.ops.kernels.all_reduce import gemm_all_reduce_kernel
from tilewire.ops.kernels.collectives import all_reduce_kernel
from tilewire.ops.made_once import made_once
from tilewire.ops.summed_product import SummedProduct
from tilewire.ops.terms import store_terms

WAYS = ("auto", "owners", "channels", "flags")


class GemmAllReduce(SummedProduct):
    """`c = epilogue(Σ_r a_r · b_rᵀ)`, which all ranks get, with equal bits.

    K is split over the ranks: rank r has `a` [M, K_r] and `b` [N, K_r] of one float dtype, with any
    strides. M ≤ `max_m` and N ≤ `max_n` are the same on all ranks, K_r may differ by rank and be 0.
    Bias and residual are those of the whole result, and the same on all ranks.

    The result is [M, N] of `dtype` in symmetric memory: in the object's own, where it stays until
    the next call, or in the window `out` of at least M rows and N columns. What comes back is the
    part of it that is the result, as an array over this rank's copy.

    **Numbers.** Products are summed in f32, the ranks' terms in f32 too. With many rows a tile has
    one owner, who adds its own term and those of the peers in rank order, which are rounded to
    `partial`; with a few, all ranks add all terms, rounded, in rank order. So the error is at most
    that of a product rounded to `partial` that an all-reduce follows.

    **Memory.** It owns 2 · max_m · max_n elements on each rank, flags, and channels for a few rows.

    **Order.** As for `GemmReduceScatter`: calls are launches of one lane, all ranks make them in
    one order, and the first of a mode, and of a few rows, is collective.

    UserError where shapes, dtypes or the ranks' arrays don't fit; HangError where the ranks' calls
    don't.
    """

    name = "gemm_all_reduce"
    rotate = None

    def __init__(
        self,
        comm: tw.Communicator,
        dtype: Any,
        *,
        max_m: int,
        max_n: int,
        way: str = "auto",
        **options: Any,
    ) -> None:
        """`way`: tiles have "owners", or all are sent to all, by "channels" or with "flags".
        `options`: those of `FusedProduct`."""
        super().__init__(comm, dtype, max_m=max_m, max_n=max_n, **options)
        if way not in WAYS:
            raise UserError(
                f"{self.name}: way= is one of {', '.join(map(repr, WAYS))}, found {way!r}"
            )
        self.way = way
        most = most_rows_to_all(comm.size) if way == "auto" else max_m
        self._few = FewRows(self, min(max_m, most), max_n)

    @made_once
    def _result(self) -> tw.Window:
        return self.maker.window((max(self.max_m, 1), self.max_n), self.dtype)

    def __call__(
        self,
        a: Any,
        b: Any,
        out: tw.Window | None = None,
        *,
        epilogue: Epilogue = NOTHING,
    ) -> Any:
        """The result, over this rank's copy of `out` or of the object's own memory. Where one
        controller drives all ranks, a list of one array per rank comes out, and may go in for `a`,
        `b` and an epilogue's arrays."""
        operands = Operands(self, a, b, epilogue)
        M, N = self._shape(operands)
        columns = operands.columns(epilogue.form, None, epilogue.residual)[0]
        window = self._result if out is None else self._own_window(out, M, columns)
        views = [
            host_view(window, rank, like)[:M, :columns]
            for rank, like in zip(operands.ranks, operands.a, strict=True)
        ]
        way = self._way(M)
        if self._choose(M, N, operands.dtype) == "unfused":
            self._unfused(operands, window, views, way, columns, epilogue)
        elif way == "channels":
            self._few.by_channels(operands, views, epilogue)
        elif way == "flags":
            self._few.by_flags(operands, views, epilogue)
        else:
            self._by_owners(operands, window, columns, epilogue)
        return for_launch(self.comm, views)

    def _way(self, M: int) -> str:
        if self.way != "auto":
            return self.way
        if most_rows_to_all(self.comm.size) < M:
            return "owners"
        return WAY_OF_FEW

    def _own_window(self, out: Any, M: int, columns: int) -> tw.Window:
        is_window = isinstance(out, tw.Window) and out.comm is self.comm and out.rotate == 0
        if not is_window or len(out.shape) != 2 or out.shape[0] < M or out.shape[1] < columns:
            raise UserError(
                f"{self.name}: out= is a window of this communicator with [{M}, {columns}] "
                f"elements or more, since peers write to it; found {out!r:.200}"
            )
        return out

    def _by_owners(
        self, operands: Operands, window: tw.Window, columns: int, epilogue: Epilogue
    ) -> None:
        part, ready = self._slots
        form = epilogue.form
        tiling = self._tiling(operands.num_rows, operands.num_columns, operands.dtype, form)
        gemm_all_reduce_kernel(form)[self.grid](
            for_launch(self.comm, operands.a),
            for_launch(self.comm, operands.b),
            epilogue.operands(form, "M"),
            part,
            ready,
            window,
            columns,
            **self._constants(tiling),
        )

    def _unfused(
        self,
        operands: Operands,
        window: tw.Window,
        views: list[Any],
        way: str,
        columns: int,
        epilogue: Epilogue,
    ) -> None:
        terms = store_terms(operands, self._terms, epilogue)
        if way != "owners":
            self._few.behind_library(operands, terms, views, epilogue)
            return
        form = epilogue.form.of_sum()
        all_reduce_kernel(form)[self.grid](
            self._terms,
            epilogue.operands(form, "M"),
            window,
            operands.num_rows,
            operands.num_columns,
            columns,
            BM=16,
            BN=2 * HALF,
        )
