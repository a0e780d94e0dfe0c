"""Flags, and rotating windows beside them: sets at peers, waits for slices and for several sets."""

import tilewire as tw

from op_cases.case import op_case


@op_case(
    "set",
    "wait",
    inputs=lambda make: {
        "x": make.values(),
        "inbox": make.output((make.world, *make.shape)),
        "ready": make.flag(make.world, make.shape[0]),
        "y": make.output(),
    },
    reference=lambda x, inbox: {"y": [x[0] + x[1]] * 2, "inbox": [[x[0], x[1]]] * 2},
    dtypes=(tw.f32,),
    shapes=((4, 64), (5, 37)),
    grid=2,
    world=2,
)
@tw.kernel
def sum_behind_flags(
    x: tw.Tensor["T", "H"],
    inbox: tw.Window["W", "T", "H"],
    ready: tw.Flag["W", "T"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    me = tw.rank()
    for row in tw.persistent(T):
        mine = tw.load(x[row, :])
        for r in tw.ranks():
            tw.store(inbox.at(r)[me, row, :], mine)
            tw.set(ready.at(r)[me, row])
        tw.wait(ready[:, row])
        total = tw.zeros((H,), x.dtype)
        for r in tw.ranks():
            total += tw.load(inbox[r, row, :])
        tw.store(y[row, :], total)


@op_case(
    "set",
    "wait",
    inputs=lambda make: {
        "x": make.values(),
        "scratch": make.rotating(make.shape, 2),
        "ready": make.flag(make.shape[0]),
        "y": make.output(),
    },
    reference=lambda x: {"y": [x[1], x[0]]},
    dtypes=(tw.f32,),
    shapes=((4, 64), (5, 37)),
    grid=2,
    world=2,
)
@tw.kernel
def swap_through_a_rotating_window(
    x: tw.Tensor["T", "H"],
    scratch: tw.Window["T", "H"],
    ready: tw.Flag["T"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    other = 1 - tw.rank()
    for row in range(T):
        if row % 2 != tw.program_id(0):
            tw.set(ready.at(other)[row])
        else:
            tw.store(scratch.at(other)[row, :], tw.load(x[row, :]))
            tw.set(ready.at(other)[row])
            tw.wait(ready[row], n=2, timeout=None)
            tw.store(y[row, :], tw.load(scratch[row, :]))


@op_case(
    "set",
    "wait",
    inputs=lambda make: {
        "x": make.values(),
        "ready": make.flag(2),
        "y": make.output(),
    },
    reference=lambda x: x + 1,
    dtypes=(tw.f32,),
    shapes=((4, 64), (5, 37)),
    grid=2,
)
@tw.kernel
def hand_on_within_a_rank(
    x: tw.Tensor["T", "H"], ready: tw.Flag["N"], y: tw.Tensor["T", "H"], *, H: tw.const
):
    if tw.program_id(0) == 0:
        for row in range(T):
            tw.store(y[row, :], tw.load(x[row, :]))
        tw.set(ready[0])
        return
    tw.wait(ready[0])
    for row in range(T):
        tw.store(y[row, :], tw.load(y[row, :]) + 1)
