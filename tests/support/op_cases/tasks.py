"""Tasks: what a warp of its own carries beside the rest of an instance."""

import numpy as np
import tilewire as tw

from op_cases.case import op_case
from op_cases.matmul import whole
from op_cases.staged_matmul import product


@op_case(
    "in_task",
    inputs=lambda make: {
        "x": make.values(),
        "inbox": make.rotating((make.world, *make.shape), 2),
        "ready": make.flag(make.world, make.shape[0]),
        "y": make.output(),
    },
    reference=lambda x: {"y": [x[0] + x[1]] * 2},
    dtypes=(tw.f32,),
    shapes=((4, 64), (5, 37)),
    grid=2,
    world=2,
)
@tw.kernel
def sum_of_what_tasks_push(
    x: tw.Tensor["T", "H"],
    inbox: tw.Window["W", "T", "H"],
    ready: tw.Flag["W", "T"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    me = tw.rank()
    with tw.task():
        for row in tw.persistent(T):
            for p in tw.peers():
                tw.put(inbox.at(p)[me, row, :], x[row, :])
                tw.set(ready.at(p)[me, row])
    for row in tw.persistent(T):
        total = tw.load(x[row, :])
        for p in tw.peers():
            tw.wait(ready[p, row])
            total += tw.load(inbox[p, row, :])
        tw.store(y[row, :], total)


@op_case(
    "in_task",
    inputs=lambda make: {
        "x": make.values(),
        "begin": make.semaphore(2),
        "go": make.flag(2),
        "y": make.output(),
        "z": make.output(),
    },
    reference=lambda x: {"y": 2 * x, "z": 2 * x},
    dtypes=(tw.f32,),
    shapes=((4, 64), (5, 37)),
    grid=2,
)
@tw.kernel
def copy_what_the_rest_computed(
    x: tw.Tensor["T", "H"],
    begin: tw.Semaphore["I"],
    go: tw.Flag["I"],
    y: tw.Tensor["T", "H"],
    z: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    i = tw.program_id(0)
    with tw.task():
        tw.wait(begin[i])
        for row in tw.persistent(T):
            tw.prefetch(x[row, :])
    with tw.task():
        tw.wait(go[0:2])
        for row in tw.persistent(T):
            tw.put(z[row, :], y[row, :])
    tw.signal(begin[i])
    for row in tw.persistent(T):
        tw.store(y[row, :], 2 * tw.load(x[row, :]))
    tw.set(go[i])


def gathered(a):
    return np.concatenate(a)


@op_case(
    "in_task",
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "full": make.output((2 * make.shape[0], make.shape[2])),
        "ready": make.flag(2 * make.shape[0] // 64),
        "begin": make.flag(2),
        "c": make.output((2 * make.shape[0], make.shape[1]), tw.f32),
    },
    reference=lambda a, b: {
        "full": [gathered(a)] * 2,
        "c": [product(gathered(a), own.T) for own in b],
    },
    dtypes=(tw.bf16,),
    shapes=((64, 64, 64), (128, 72, 80)),
    tolerance=0,
    grid=2,
    world=2,
)
@tw.kernel
def staged_matmul_beside_a_task(
    a: tw.constant(tw.Tensor["R", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    full: tw.Window["M", "K"], ready: tw.Flag, begin: tw.Flag, c: tw.Tensor["M", "N"]
):  # fmt: skip
    with tw.task():
        tw.wait(begin[tw.program_id(0)])
        for block in tw.persistent(tw.cdiv(R, 64)):
            to = tw.rank() * tw.cdiv(R, 64) + block
            for r in tw.ranks():
                tw.put(full.at(r)[tw.ds(to * 64, 64), :], a[tw.ds(block * 64, 64), :])
                tw.set(ready.at(r)[to])
    tw.barrier()
    tw.set(begin[tw.program_id(0)])
    for t in tw.persistent(tw.tiles(M, N, 64, 64), schedule="dynamic"):
        tw.wait(ready[t.m.start // 64])
        tw.store(c[t.m, t.n], tw.matmul(full[t.m, :], b[t.n, :].T))
