"""Semaphores: signals to peers and to oneself, waits for one, for slices, for several signals."""

import tilewire as tw

from op_cases.case import op_case


def sum_of_ranks(x, world):
    return [sum(x[rank] for rank in range(world))] * world


@op_case(
    "signal",
    "wait",
    inputs=lambda make: {
        "x": make.values(),
        "inbox": make.output((make.world, *make.shape)),
        "ready": make.semaphore(make.shape[0], make.world),
        "y": make.output(),
    },
    reference=lambda x, inbox: {
        "y": sum_of_ranks(x, 2),
        "inbox": [[x[0], x[1]]] * 2,
    },
    dtypes=(tw.f32,),
    shapes=((4, 64), (5, 37)),
    grid=2,
    world=2,
)
@tw.kernel
def sum_behind_semaphores(
    x: tw.Tensor["T", "H"],
    inbox: tw.Window["W", "T", "H"],
    ready: tw.Semaphore["T", "W"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    me = tw.rank()
    for row in tw.persistent(T):
        mine = tw.load(x[row, :])
        for r in tw.ranks():
            tw.store(inbox.at(r)[me, row, :], mine)
            tw.signal(ready.at(r)[row, me])
        tw.wait(ready[row, :])
        total = tw.zeros((H,), x.dtype)
        for r in tw.ranks():
            total += tw.load(inbox[r, row, :])
        tw.store(y[row, :], total)


@op_case(
    "signal",
    "wait",
    inputs=lambda make: {
        "x": make.values(),
        "inbox": make.output(),
        "full": make.semaphore(2),
        "free": make.semaphore(2, init=3),
        "y": make.output(),
    },
    reference=lambda x, inbox: {
        "y": [x[1], x[0]],
        "inbox": [x[1], x[0]],
    },
    dtypes=(tw.f32,),
    shapes=((4, 64), (5, 37)),
    grid=1,
    world=2,
)
@tw.kernel
def swap_with_back_pressure(
    x: tw.Tensor["T", "H"],
    inbox: tw.Window["T", "H"],
    full: tw.Semaphore,
    free: tw.Semaphore["S"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    other = 1 - tw.rank()
    for row in range(T):
        n = 1 + row % 2
        tw.wait(free[row % 2], n, timeout=None)
        tw.store(inbox.at(other)[row, :], tw.load(x[row, :]))
        tw.signal(full.at(other)[row % S], n)
        tw.wait(full[row % 2], n)
        tw.store(y[row, :], tw.load(inbox[row, :]))
        tw.signal(free[row % 2], n)
