"""What follows, or precedes, a library's product: the collectives of the unfused path, with the
epilogue in them."""

import functools

import tilewire as tw
from tilewire.ops.epilogue import Form, operands_class
from tilewire.ops.kernels.epilogue import finished, output_columns, scaled


@functools.cache
def scale_kernel(form: Form) -> tw.Kernel:
    """Scales the product of this rank, in place."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def scale(x: tw.Tensor["M", "N"], epilogue: Arrays, *, BM: tw.const, BN: tw.const):
        for t in tw.persistent(tw.tiles(M, N, BM, BN)):
            tile = tw.load(x[t.m, t.n]).to(tw.f32)
            tw.store(x[t.m, t.n], scaled(tile, form, epilogue, t.m, t.n))

    return scale


@functools.cache
def finish_kernel(form: Form) -> tw.Kernel:
    """All of an epilogue on a product that nobody sums."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def finish(
        x: tw.Tensor["M", "N"],
        epilogue: Arrays,
        c: tw.Tensor["M", "O"],
        *,
        BM: tw.const,
        BN: tw.const,
    ):
        for t in tw.persistent(tw.tiles(M, N, BM, BN)):
            tile = scaled(tw.load(x[t.m, t.n]).to(tw.f32), form, epilogue, t.m, t.n)
            result = finished(tile, form, epilogue, t.m, t.n)
            tw.store(c[t.m, output_columns(form, t.n)], result)

    return finish


@tw.function
def sum_of_ranks(x, first, last, rows, columns):
    """In rank order, in f32: a part of rows first … last - 1."""
    total = tw.zeros((rows.size, columns.size), tw.f32)
    for r in tw.ranks():
        total += tw.load(x.at(r)[first:last][rows, columns])
    return total


@functools.cache
def reduce_scatter_kernel(form: Form) -> tw.Kernel:
    """The sum over the ranks of x's first `num_rows` rows, of which each rank gets its share."""
    Arrays = operands_class(form, "R")

    @tw.kernel
    def reduce_scatter(
        x: tw.Window["MMAX", "NMAX"],
        epilogue: Arrays,
        c: tw.Tensor["R", "O"],
        num_rows: tw.i64,
        num_columns: tw.i64,
        *,
        BM: tw.const,
        BN: tw.const,
    ):
        part = tw.cdiv(num_rows, tw.world_size())
        first = tw.rank() * part
        last = min(first + part, num_rows)
        tw.barrier()  # every rank's x is complete
        for t in tw.persistent(tw.tiles(part, num_columns, BM, BN)):
            total = sum_of_ranks(x, first, last, t.m, t.n)
            result = finished(total, form, epilogue, t.m, t.n)
            tw.store(c[t.m, output_columns(form, t.n)], result)
        tw.barrier()  # x may be written again

    return reduce_scatter


@functools.cache
def all_reduce_kernel(form: Form) -> tw.Kernel:
    """The sum over the ranks of x's first `num_rows` rows, which all ranks get in y."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def all_reduce(
        x: tw.Window["MMAX", "NMAX"],
        epilogue: Arrays,
        y: tw.Window["MY", "NY"],
        num_rows: tw.i64,
        num_columns: tw.i64,
        columns: tw.i64,  # of y, from the first on
        *,
        BM: tw.const,
        BN: tw.const,
    ):
        part = tw.cdiv(num_rows, tw.world_size())
        first = tw.rank() * part
        last = min(first + part, num_rows)
        tw.barrier()  # every rank's x is complete, and nobody needs the old y
        for t in tw.persistent(tw.tiles(part, num_columns, BM, BN)):
            total = sum_of_ranks(x, first, last, t.m, t.n)
            rows = tw.ds(first + t.m.start, BM)
            result = finished(total, form, epilogue, rows, t.n)
            for r in tw.ranks():
                mine = y.at(r)[first:last, :columns]
                tw.store(mine[t.m, output_columns(form, t.n)], result)
        tw.barrier()  # y is complete, and x may be written again

    return all_reduce


@functools.cache
def exchange_kernel(form: Form) -> tw.Kernel:
    """The same over channels, for a few rows: every rank sends all that it has to all others."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def exchange(
        x: tw.Tensor["M", "N"],
        epilogue: Arrays,
        ch: tw.Channel["W", "SLOTS"],
        y: tw.Tensor["M", "O"],
        *,
        BM: tw.const,
        BN: tw.const,
    ):
        i = tw.program_id(0)
        for t in tw.persistent(tw.tiles(M, N, BM, BN)):
            total = tw.sum(tw.exchange(ch[:, i], tw.load(x[t.m, t.n])), axis=0)
            result = finished(total, form, epilogue, t.m, t.n)
            tw.store(y[t.m, output_columns(form, t.n)], result)

    return exchange


@tw.kernel
def meet():
    tw.barrier()


@tw.kernel
def all_gather(a: tw.Tensor["R", "K"], full: tw.Window["MMAX", "K"], num_rows: tw.i64):
    """Each rank's rows to all ranks: a part of them by each program instance."""
    first = tw.rank() * tw.cdiv(num_rows, tw.world_size())
    share = tw.cdiv(R, tw.num_programs(0))
    begin = tw.program_id(0) * share
    tw.barrier()  # nobody needs the old `full`
    for i in range(tw.world_size()):
        p = (tw.rank() + i) % tw.world_size()
        mine = full.at(p)[first : first + R]
        tw.put(mine[begin : begin + share, :], a[begin : begin + share, :])
    tw.barrier()  # every rank's rows are there
