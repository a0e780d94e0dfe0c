"""All-gather and GEMM in one kernel."""

import functools

import tilewire as tw
from tilewire.ops.epilogue import Form, operands_class
from tilewire.ops.kernels.epilogue import finished, output_columns, scaled

PUSH_COLUMNS = 1024
"""What one of them pushes of a block of rows at a time."""


@tw.function
def push(shard, full, ready, first, ROWS):
    """The shard's rows, `first` and following of all, to the peers: a set of flag [rank, block] for
    each PUSH_COLUMNS columns of a block of ROWS rows."""
    size, rank = tw.world_size(), tw.rank()
    num_rows, num_columns = shard.shape
    parts = tw.cdiv(num_columns, PUSH_COLUMNS)
    for i in range(1, size):
        p = (rank - i) % size  # it comes to our rows after those of i - 1 others
        theirs = full.at(p)[first : first + num_rows]
        for unit in tw.persistent(tw.cdiv(num_rows, ROWS) * parts):
            block, part = unit // parts, unit % parts
            rows = tw.ds(block * ROWS, ROWS)
            end = min((part + 1) * PUSH_COLUMNS, num_columns)
            for k in range(part * PUSH_COLUMNS, end, 128):
                columns = tw.ds(k, 128)
                tw.store(theirs[rows, columns], tw.load(shard[rows, columns]))
            tw.set(ready.at(p)[rank, block])


@functools.cache
def all_gather_gemm_kernel(form: Form) -> tw.Kernel:
    """A few instances push the shard to the peers, then join in; where PUSH is 0, copy engines do.
    All begin with the rank's own rows and go on with the next rank's, which come first. There is a
    flag for ROWS rows of each rank. Where some push, tiles are handed out one by one, so that these
    get fewer."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def all_gather_gemm(
        a: tw.constant(tw.Tensor["R", "K"]),
        b: tw.constant(tw.Tensor["N", "K"]),
        epilogue: Arrays,
        full: tw.Window["MMAX", "K"],
        ready: tw.Flag["W", "BLOCKS"],
        c: tw.Tensor["M", "O"],
        *,
        PUSH: tw.const,
        ROWS: tw.const,
        BM: tw.const,
        BN: tw.const,
        BK: tw.const,
        STAGES: tw.const,
        GROUP: tw.const,
        PRECISION: tw.const,
    ):
        size, rank = tw.world_size(), tw.rank()
        sets = 1
        if PUSH > 0:
            sets = tw.cdiv(K, PUSH_COLUMNS)
            with tw.instances(0, PUSH):
                tw.barrier()  # every rank has ended its last launch: `full` may be overwritten
                push(a, full, ready, rank * tw.cdiv(M, size), ROWS)
        tiles = tw.tiles(M, N, BM, BN, split=size, start=rank, order="grouped", group=GROUP)
        for t in tw.persistent(tiles, schedule="dynamic" if PUSH > 0 else "static"):
            if t.part == rank:
                product = tw.matmul(
                    a[t.local_m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION
                )
            else:
                tw.wait(ready[t.part, t.local_m.start // ROWS], sets)
                product = tw.matmul(
                    full[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION
                )
            total = scaled(product, form, epilogue, t.m, t.n)
            result = finished(total, form, epilogue, t.m, t.n)
            tw.store(c[t.m, output_columns(form, t.n)], result)

    return all_gather_gemm
