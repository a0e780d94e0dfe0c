"""GEMM and all-reduce in one kernel, for many rows and for a few."""

import functools

import tilewire as tw
from tilewire.ops.epilogue import Form, operands_class
from tilewire.ops.kernels.epilogue import finished, output_columns, scaled


@functools.cache
def gemm_all_reduce_kernel(form: Form) -> tw.Kernel:
    """As GEMM and reduce-scatter, but that a tile's owner stores the result at all ranks."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def gemm_all_reduce(
        a: tw.constant(tw.Tensor["M", "K"]),
        b: tw.constant(tw.Tensor["N", "K"]),
        epilogue: Arrays,
        part: tw.Window["W", "RMAX", "NMAX"],
        ready: tw.Flag["W", "TILES"],
        c: tw.Window["MC", "NC"],
        columns: tw.i64,  # of c, from the first on
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
                result = finished(total, form, epilogue, t.m, t.n)
                for r in tw.ranks():
                    mine = c.at(r)[:, :columns]
                    tw.store(mine[t.m, output_columns(form, t.n)], result)
        tw.barrier()  # c is complete, and `part` may be written again

    return gemm_all_reduce


@functools.cache
def gemm_exchange_kernel(form: Form) -> tw.Kernel:
    """All send all their tiles to all: a tile's arrival is seen in the tile itself."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def gemm_exchange(
        a: tw.constant(tw.Tensor["M", "K"]),
        b: tw.constant(tw.Tensor["N", "K"]),
        epilogue: Arrays,
        ch: tw.Channel["W", "SLOTS"],
        c: tw.Tensor["M", "O"],
        *,
        BM: tw.const,
        BN: tw.const,
        BK: tw.const,
        STAGES: tw.const,
        GROUP: tw.const,
        PRECISION: tw.const,
    ):
        i = tw.program_id(0)
        for t in tw.persistent(tw.tiles(M, N, BM, BN, order="grouped", group=GROUP)):
            product = tw.matmul(
                a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION
            )
            term = scaled(product, form, epilogue, t.m, t.n)
            total = tw.sum(tw.exchange(ch[:, i], term), axis=0)  # in rank order
            result = finished(total, form, epilogue, t.m, t.n)
            tw.store(c[t.m, output_columns(form, t.n)], result)

    return gemm_exchange


@functools.cache
def gemm_to_all_kernel(form: Form) -> tw.Kernel:
    """All send all their tiles to all, themselves included, with a flag behind each."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def gemm_to_all(
        a: tw.constant(tw.Tensor["M", "K"]),
        b: tw.constant(tw.Tensor["N", "K"]),
        epilogue: Arrays,
        part: tw.Window["W", "MMAX", "NMAX"],
        ready: tw.Flag["W", "TILES"],
        c: tw.Tensor["M", "O"],
        *,
        BM: tw.const,
        BN: tw.const,
        BK: tw.const,
        STAGES: tw.const,
        GROUP: tw.const,
        PRECISION: tw.const,
    ):
        for t in tw.persistent(tw.tiles(M, N, BM, BN, order="grouped", group=GROUP)):
            product = tw.matmul(
                a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION
            )
            term = scaled(product, form, epilogue, t.m, t.n)
            for p in tw.ranks():
                tw.store(part.at(p)[tw.rank(), t.m, t.n], term)
            for p in tw.ranks():  # one fence for all of them
                tw.set(ready.at(p)[tw.rank(), t.local_index])
            total = tw.zeros((BM, BN), tw.f32)
            for r in tw.ranks():  # all ranks add the same: they get the same bits
                tw.wait(ready[r, t.local_index])
                total += tw.load(part[r, t.m, t.n])
            result = finished(total, form, epilogue, t.m, t.n)
            tw.store(c[t.m, output_columns(form, t.n)], result)

    return gemm_to_all
