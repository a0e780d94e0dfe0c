"""GEMM and reduce-scatter."""

from __future__ import annotations

from typing import Any

from tilewire.ops.arrays import for_launch, share_of
from tilewire.ops.epilogue import HALF, NOTHING, Epilogue
from tilewire.ops.fused_product import Operands
from tilewire.ops.kernels.collectives import reduce_scatter_kernel
from tilewire.ops.kernels.reduce_scatter import gemm_reduce_scatter_kernel
from tilewire.ops.summed_product import SummedProduct
from tilewire.ops.terms import store_terms


class GemmReduceScatter(SummedProduct):
    """`c = epilogue(Σ_r a_r · b_rᵀ)`, of which each rank gets its rows.

    K is split over the ranks: rank r has `a` [M, K_r] and `b` [N, K_r] of one float dtype, with any
    strides. M ≤ `max_m` and N ≤ `max_n` are the same on all ranks, K_r may differ by rank and be 0.
    Rows are divided as `torch.chunk` does, ceil(M / world size) each, the last parts smaller or
    empty: rank r gets rows `share_of(M, size, r)`, in `out` or a new array, of `dtype`.

    **Numbers.** Products are summed in f32, and the ranks' terms are added in f32, the owner's own
    first, then the peers' in rank order: a run repeats the last one bit for bit. What crosses the
    links is rounded to `partial`, the owner's own term isn't. So the error is at most that of a
    product rounded to `partial` that a reduce-scatter follows.

    **Memory.** It owns 2 · max_m · max_n elements of `partial` on each rank, which peers write to,
    and flags. Nothing is cleared between calls, and no call waits for the peers' last one to end:
    the slots rotate.

    **Order.** Calls are launches of one lane: all ranks make them in one order, streams order them.
    Making the object is local, the first call of a mode is collective and makes its memory, and so
    must come before a CUDA graph captures one.

    UserError where shapes, dtypes or the arrays of this process's ranks don't fit; HangError where
    the ranks' calls don't. One rank's M and N aren't compared with another's: where they differ,
    ranks wait in vain only if one of them has more tiles, else rows come out wrong.
    """

    name = "gemm_reduce_scatter"
    rotate = 2

    def __call__(self, a: Any, b: Any, out: Any = None, *, epilogue: Epilogue = NOTHING) -> Any:
        """This rank's rows of the result. Where one controller drives all ranks, a list of one
        array per rank comes out, and may go in for each argument."""
        operands = Operands(self, a, b, epilogue)
        M, N = self._shape(operands)
        shares = [share_of(M, self.comm.size, rank) for rank in operands.ranks]
        rows = [share.stop - share.start for share in shares]
        columns = operands.columns(epilogue.form, out, epilogue.residual)
        results = operands.results(out, rows, columns)
        c = for_launch(self.comm, results)
        if self._choose(M, N, operands.dtype) == "fused":
            self._fused(operands, M, N, c, epilogue)
        else:
            self._unfused(operands, M, N, c, epilogue)
        return c

    def _fused(self, operands: Operands, M: int, N: int, c: Any, epilogue: Epilogue) -> None:
        part, ready = self._slots
        form = epilogue.form
        tiling = self._tiling(M, N, operands.dtype, form)
        a, b = for_launch(self.comm, operands.a), for_launch(self.comm, operands.b)
        gemm_reduce_scatter_kernel(form)[self.grid](
            a, b, epilogue.operands(form, "R"), part, ready, c, **self._constants(tiling)
        )

    def _unfused(self, operands: Operands, M: int, N: int, c: Any, epilogue: Epilogue) -> None:
        store_terms(operands, self._terms, epilogue)
        form = epilogue.form.of_sum()
        reduce_scatter_kernel(form)[self.grid](
            self._terms, epilogue.operands(form, "R"), c, M, N, BM=16, BN=2 * HALF
        )
