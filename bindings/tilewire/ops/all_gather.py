"""All-gather and GEMM."""

from __future__ import annotations

import math
from typing import Any

import tilewire as tw
from tilewire.errors import UserError
from tilewire.ops.arrays import empty, for_launch, host_view, matrix, per_rank, share_of
from tilewire.ops.epilogue import HALF, NOTHING, Epilogue
from tilewire.ops.fused_product import FusedProduct, Operands
from tilewire.ops.kernels.all_gather import all_gather_gemm_kernel
from tilewire.ops.kernels.collectives import all_gather, finish_kernel
from tilewire.ops.made_once import made_once
from tilewire.ops.products import multiply, require_library
from tilewire.ops.shard_copies import (
    PIECE_BYTES,
    ShardCopies,
    grid_beside_copies,
    has_copy_engines,
    rows_per_piece,
)
from tilewire.ops.tiling import candidates_for
from tilewire.types import as_dtype

PUSHERS = 16
"""Program instances that push a shard before they join in: expected to fill the links of an H200 to
one peer from registers (367 GB/s by all multiprocessors); not measured."""


class AllGatherGemm(FusedProduct):
    """`c = epilogue(a_all · bᵀ)`, where a_all are the rows of all ranks, one rank's behind the
    other's.

    Rank r has rows `share_of(M, size, r)` of a_all, its shard `a` [rows, k], and a `b` [N, k] of
    its own, of one float dtype, with any strides; N may differ by rank. Rows are divided as
    `torch.chunk` does, ceil(M / world size) each, the last parts smaller or empty; `m=` says M
    where the parts differ, alike on all ranks. Each rank gets all M ≤ `max_m` rows of its own
    product, in `out` or a new array, of `dtype`. In an epilogue, `row_scale` and `residual` have
    all M rows.

    **Numbers.** Products are summed in f32 and rounded once: the error is that of a product alone.

    **Memory.** It owns max_m · k elements of `operand_dtype` on each rank, into which peers push
    their shards, and flags. `a` is read by the call only, and nothing of it is kept.

    **Order.** As for `GemmReduceScatter`: calls are launches of one lane, all ranks make them in
    one order, and the first of a mode is collective.

    UserError where shapes, dtypes or the arrays of this process's ranks don't fit; HangError where
    the ranks' calls don't. What one rank takes for M isn't compared with another's: where parts
    differ and `m=` is left out, rows come out wrong.
    """

    name = "all_gather_gemm"

    def __init__(
        self,
        comm: tw.Communicator,
        dtype: Any,
        *,
        max_m: int,
        k: int,
        n: int = 8192,
        operand_dtype: Any = None,
        transport: str = "auto",
        **options: Any,
    ) -> None:
        """`operand_dtype`: of a and b, `dtype` unless it is given. `n`: N of most ranks, for which
        tiles are chosen; alike on all of them. `transport`: shards are pushed by "stores" of a few
        program instances, or by "copies", of copy engines, on a stream of their own, which a
        shard whose rows aren't contiguous is copied for. `options`: those of `FusedProduct`."""
        super().__init__(comm, dtype, **options)
        if transport not in ("auto", "stores", "copies"):
            raise UserError(
                f'{self.name}: transport= is "auto", "stores" or "copies", found {transport!r}'
            )
        self.transport = transport
        self.max_m, self.k, self.n = max_m, k, n
        self.operand_dtype = self.dtype if operand_dtype is None else as_dtype(operand_dtype)

    @made_once
    def _full(self) -> tw.Window:
        return self.maker.window((max(self.max_m, 1), self.k), self.operand_dtype)

    def _flags(self, rows: int) -> tw.Flag:
        """One for so many rows of each rank."""
        chunk = -(-self.max_m // self.comm.size)
        return self.maker.flag((self.comm.size, max(-(-chunk // rows), 1)))

    @made_once
    def _set(self) -> tw.Flag:
        candidates = candidates_for(self.comm.target) if self.tiling is None else [self.tiling]
        return self._flags(min(each.BM for each in candidates))

    @made_once
    def _copies(self) -> ShardCopies:
        return ShardCopies(self._full, self._flags(self._rows_per_copy))

    @property
    def _rows_per_copy(self) -> int:
        """Whole tiles of any tiling."""
        candidates = candidates_for(self.comm.target) if self.tiling is None else [self.tiling]
        block = math.lcm(*[each.BM for each in candidates])
        return rows_per_piece(self.k * self.operand_dtype.num_bytes, block)

    def __call__(
        self,
        a: Any,
        b: Any,
        out: Any = None,
        *,
        m: int | None = None,
        epilogue: Epilogue = NOTHING,
    ) -> Any:
        """All rows of this rank's product. Where one controller drives all ranks, a list of one
        array per rank comes out, and may go in for each argument."""
        operands = Operands(self, a, b, epilogue)
        M = self._num_rows(operands, out, m)
        self._require_at_most("M", M, self.max_m)
        results = operands.results(
            out,
            [M] * len(operands.ranks),
            operands.columns(epilogue.form, out, epilogue.residual),
        )
        if self._choose(M, self.k, operands.dtype) == "fused":
            self._fused(operands, M, results, epilogue)
        else:
            self._unfused(operands, M, results, epilogue)
        return for_launch(self.comm, results)

    def _num_rows(self, operands: Operands, out: Any, m: int | None) -> int:
        """Of all ranks together: what was said, else as many on each rank as here."""
        if m is None and out is not None:
            m = matrix(
                per_rank(self.comm, out, f"{self.name}: `out`")[0], f"{self.name}: `out`"
            ).rows
        M = operands.left[0].rows * self.comm.size if m is None else m
        for rank, left in zip(operands.ranks, operands.left, strict=True):
            share = share_of(M, self.comm.size, rank)
            if (left.rows, left.columns) != (share.stop - share.start, self.k):
                raise UserError(
                    f"{self.name}: a of rank {rank} is [{left.rows}, {left.columns}], its shard of "
                    f"{M} rows [{share.stop - share.start}, {self.k}]: m= says how many rows all "
                    f"ranks have together"
                )
            if left.dtype != self.operand_dtype:
                raise UserError(
                    f"{self.name}: a of rank {rank} is {left.dtype.name}, and this was made for "
                    f"{self.operand_dtype.name}: say operand_dtype= where it isn't dtype"
                )
        return M

    def _pushes_by_copies(self, M: int) -> bool:
        if self.transport != "auto":
            return self.transport == "copies"
        num_bytes = -(-M // self.comm.size) * self.k * self.operand_dtype.num_bytes
        return has_copy_engines(self.comm) and num_bytes >= PIECE_BYTES

    def _fused(self, operands: Operands, M: int, results: list[Any], epilogue: Epilogue) -> None:
        if self._pushes_by_copies(M) and self.comm.size > 1:
            rows = self._rows_per_copy
            self._copies.begin(operands, M, rows)
            grid = grid_beside_copies(self.comm, self.grid)
            ready = self._copies.ready
            self._launch(operands, M, results, epilogue, ready, grid, PUSH=0, ROWS=rows)
            self._copies.end()
        else:
            rows = self._tiling(M, self.n, operands.dtype, epilogue.form).BM
            ready, grid = self._set, self.grid
            self._launch(operands, M, results, epilogue, ready, grid, PUSH=PUSHERS, ROWS=rows)

    def _launch(
        self,
        operands: Operands,
        M: int,
        results: list[Any],
        epilogue: Epilogue,
        ready: tw.Flag,
        grid: Any,
        **constants: int,
    ) -> None:
        form = epilogue.form
        tiling = self._tiling(M, self.n, operands.dtype, form)
        all_gather_gemm_kernel(form)[grid](
            for_launch(self.comm, operands.a),
            for_launch(self.comm, operands.b),
            epilogue.operands(form, "M"),
            self._full,
            ready,
            for_launch(self.comm, results),
            **constants,
            **self._constants(tiling),
        )

    def _unfused(self, operands: Operands, M: int, results: list[Any], epilogue: Epilogue) -> None:
        form = epilogue.form
        all_gather[tw.auto](for_launch(self.comm, operands.a), self._full, M)
        products = []
        for i, rank in enumerate(operands.ranks):
            require_library(self.name, operands.left[i], operands.right[i], self.comm.device)
            product = results[i]
            if form.is_paired:
                shape = (M, operands.right[i].rows)
                product = empty(operands.a[i], shape, self.dtype, self.name)
            full = host_view(self._full, rank, operands.a[i])[:M]
            multiply(full, operands.b[i], product, self.precision)
            products.append(product)
        if form:
            finish_kernel(form)[tw.auto](
                for_launch(self.comm, products),
                epilogue.operands(form, "M"),
                for_launch(self.comm, results),
                BM=16,
                BN=2 * HALF,
            )
