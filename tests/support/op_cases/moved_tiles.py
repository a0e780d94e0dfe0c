"""Tiles between ranks that a mover carries beside the products (sm_90a); elsewhere stored and
loaded as any."""

import tilewire as tw

from op_cases.case import HALVES, op_case
from op_cases.matmul import whole
from op_cases.staged_matmul import product

SHAPES = ((128, 64, 64), (200, 136, 80), (60, 72, 16))  # M, N, K; M is even


def inputs(make, **more):
    rows, columns, depth = make.shape
    tiles = -(-rows // 128) * -(-columns // 64)
    return {
        "a": whole(make, (rows, depth)),
        "b": whole(make, (columns, depth)),
        "part": make.values((1, rows, columns)),
        "ready": make.flag(tiles),
        **more,
    }


def total(a, b):
    return sum(product(mine, others.T) for mine, others in zip(a, b, strict=True))


@op_case(
    "matmul",
    inputs=lambda make: inputs(make, c=make.output((make.shape[0] // 2, make.shape[1]))),
    reference=lambda a, b, part: {
        "c": [total(a, b)[: len(a[0]) // 2], total(a, b)[len(a[0]) // 2 :]]
    },
    dtypes=(*HALVES, tw.f32),
    shapes=SHAPES,
    grid=2,
    world=2,
)
@tw.kernel
def terms_for_owners(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    part: tw.Window[1, "M", "N"],
    ready: tw.Flag["TILES"],
    c: tw.Tensor["R", "N"],
):
    for t in tw.persistent(tw.tiles(M, N, 64, 64, split=2, start=tw.rank() + 1)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        if t.part != tw.rank():
            tw.store(part.at(t.part)[0, t.m, t.n], mine)
            tw.set(ready.at(t.part)[t.local_index])
        else:
            tw.wait(ready[t.local_index])
            tw.store(c[t.local_m, t.n], mine + tw.load(part[0, t.m, t.n]))


@op_case(
    "matmul",
    inputs=lambda make: inputs(make, c=make.output((make.shape[0], make.shape[1]))),
    reference=lambda a, b, part, c: {"c": [total(a, b)] * 2},
    dtypes=HALVES,
    shapes=SHAPES,
    grid=2,
    world=2,
)
@tw.kernel
def sums_for_all(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    part: tw.Window[1, "M", "N"],
    ready: tw.Flag["TILES"],
    c: tw.Window["M", "N"],
):
    for t in tw.persistent(tw.tiles(M, N, 64, 64, split=2, start=tw.rank() + 1)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        if t.part != tw.rank():
            tw.store(part.at(t.part)[0, t.m, t.n], mine)
            tw.set(ready.at(t.part)[t.local_index])
        else:
            tw.wait(ready[t.local_index])
            sums = mine + tw.load(part[0, t.m, t.n])
            for r in tw.ranks():
                tw.store(c.at(r)[t.m, t.n], sums)
    tw.barrier()
