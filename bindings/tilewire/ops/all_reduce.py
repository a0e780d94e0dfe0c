"""GEMM and all-reduce."""

from __future__ import annotations

import functools
from typing import Any

import tilewire as tw
from tilewire.errors import UserError
from tilewire.ops.arrays import for_launch, host_view
from tilewire.ops.choice import sends_all_to_all
from tilewire.ops.epilogue import HALF, NOTHING, Epilogue
from tilewire.ops.fused_product import FusedProduct, Operands
from tilewire.ops.kernels.all_reduce import gemm_all_reduce_kernel, gemm_exchange_kernel
from tilewire.ops.kernels.collectives import all_reduce_kernel, exchange_kernel
from tilewire.ops.terms import store_terms
from tilewire.ops.tiling import Tiling, choose_tiling_of_few, most_tiles, num_tiles

SLOTS = 128
"""Program instances that exchange tiles at most; each has a slot of its own."""


class GemmAllReduce(FusedProduct):
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

    def __init__(
        self,
        comm: tw.Communicator,
        dtype: Any,
        *,
        max_m: int,
        max_n: int,
        few: bool | None = None,
        **options: Any,
    ) -> None:
        """`few`: whether all send all to all; None: where that is faster. `options`: those of
        `FusedProduct`."""
        super().__init__(comm, dtype, **options)
        self.max_m, self.max_n, self.few = max_m, max_n, few
        self._channels: dict[tuple[int, int], tw.Channel] = {}

    @functools.cached_property
    def _slots(self) -> tuple[tw.Window, tw.Flag]:
        size = self.comm.size
        rows = max(-(-self.max_m // size), 1)
        part = self.maker.window((size, rows, self.max_n), self.partial)
        tiles = most_tiles(self.comm.target, self.tiling, rows, self.max_n)
        return part, self.maker.flag((size, tiles))

    @functools.cached_property
    def _terms(self) -> tw.Window:
        return self.maker.window((max(self.max_m, 1), self.max_n), self.partial)

    @functools.cached_property
    def _result(self) -> tw.Window:
        return self.maker.window((max(self.max_m, 1), self.max_n), self.dtype)

    def _channel(self, tiling: Tiling) -> tw.Channel:
        tile = (tiling.BM, tiling.BN)
        if tile not in self._channels:
            self._channels[tile] = self.maker.channel(
                (self.comm.size, SLOTS), tile, self.partial, exchange=True, signed_zero=False
            )
        return self._channels[tile]

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
        operands = Operands(self, a, b)
        M, N = operands.num_rows, operands.num_columns
        self._require_at_most("M", M, self.max_m)
        self._require_at_most("N", N, self.max_n)
        columns = operands.columns(epilogue.form, None, epilogue.residual)[0]
        window = self._result if out is None else self._own_window(out, M, columns)
        views = [
            host_view(window, rank, like)[:M, :columns]
            for rank, like in zip(operands.ranks, operands.a, strict=True)
        ]
        few = sends_all_to_all(M, self.comm.size) if self.few is None else self.few
        if self._choose(M, N, operands.dtype) == "unfused":
            self._unfused(operands, window, views, few, columns, epilogue)
        elif few:
            self._fused_few(operands, views, epilogue)
        else:
            self._fused(operands, window, columns, epilogue)
        return for_launch(self.comm, views)

    def _own_window(self, out: Any, M: int, columns: int) -> tw.Window:
        is_window = isinstance(out, tw.Window) and out.comm is self.comm and out.rotate == 0
        if not is_window or len(out.shape) != 2 or out.shape[0] < M or out.shape[1] < columns:
            raise UserError(
                f"{self.name}: out= is a window of this communicator with [{M}, {columns}] "
                f"elements or more, since peers write to it; found {out!r:.200}"
            )
        return out

    def _fused(
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

    def _fused_few(self, operands: Operands, views: list[Any], epilogue: Epilogue) -> None:
        form = epilogue.form
        tiling = self._tiling_of_few(operands, epilogue)
        gemm_exchange_kernel(form)[self._num_slots(operands, tiling)](
            for_launch(self.comm, operands.a),
            for_launch(self.comm, operands.b),
            epilogue.operands(form, "M"),
            self._channel(tiling),
            for_launch(self.comm, views),
            **self._constants(tiling),
        )

    def _tiling_of_few(self, operands: Operands, epilogue: Epilogue) -> Tiling:
        return self.tiling or choose_tiling_of_few(
            operands.num_rows, operands.dtype, epilogue.form.is_paired
        )

    def _num_slots(self, operands: Operands, tiling: Tiling) -> int:
        most = SLOTS if self.grid is tw.auto else min(self.grid, SLOTS)
        return max(min(most, num_tiles(tiling, operands.num_rows, operands.num_columns)), 1)

    def _unfused(
        self,
        operands: Operands,
        window: tw.Window,
        views: list[Any],
        few: bool,
        columns: int,
        epilogue: Epilogue,
    ) -> None:
        terms = store_terms(operands, self._terms, epilogue)
        form = epilogue.form.of_sum()
        if few:
            tiling = self._tiling_of_few(operands, epilogue)
            exchange_kernel(form)[self._num_slots(operands, tiling)](
                for_launch(self.comm, terms),
                epilogue.operands(form, "M"),
                self._channel(tiling),
                for_launch(self.comm, views),
                BM=tiling.BM,
                BN=tiling.BN,
            )
            return
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
