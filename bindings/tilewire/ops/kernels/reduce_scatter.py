"""GEMM and reduce-scatter in one kernel."""

import functools

import tilewire as tw
from tilewire.ops.epilogue import Form, operands_class
from tilewire.ops.kernels.epilogue import finished, output_columns, scaled


@functools.cache
def gemm_reduce_scatter_kernel(form: Form) -> tw.Kernel:
    """Peers' rows first, each tile to its owner as soon as it is there. The owner adds what came,
    in rank order, to its own, which it does last."""
    Arrays = operands_class(form, "R")

    @tw.kernel
    def gemm_reduce_scatter(
        a: tw.constant(tw.Tensor["M", "K"]),
        b: tw.constant(tw.Tensor["N", "K"]),
        epilogue: Arrays,
        part: tw.Window["W", "RMAX", "NMAX"],
        ready: tw.Flag["W", "TILES"],
        c: tw.Tensor["R", "O"],
        *,
        BM: tw.const,
        BN: tw.const,
        BK: tw.const,
        STAGES: tw.const,
        GROUP: tw.const,
        PRECISION: tw.const,
    ):
        size, rank = tw.world_size(), tw.rank()
        tiles = tw.tiles(M, N, BM, BN, split=size, start=rank + 1, order="grouped", group=GROUP)
        for t in tw.persistent(tiles):
            product = tw.matmul(
                a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION
            )
            total = scaled(product, form, epilogue, t.m, t.n)
            if t.part != rank:
                tw.store(part.at(t.part)[rank, t.local_m, t.n], total)
                tw.set(ready.at(t.part)[rank, t.local_index])
            else:
                for r in tw.peers():
                    tw.wait(ready[r, t.local_index])
                    total += tw.load(part[r, t.local_m, t.n])
                result = finished(total, form, epilogue, t.local_m, t.n)
                tw.store(c[t.local_m, output_columns(form, t.n)], result)

    return gemm_reduce_scatter
