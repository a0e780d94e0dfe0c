"""Staged products (sm_90a) beside communication: who waits, who draws, who sends."""

import numpy as np
import tilewire as tw

from op_cases.case import HALVES, op_case
from op_cases.matmul import whole
from op_cases.staged_matmul import inputs, product


def gathered(a):
    return np.concatenate(a)


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "full": make.output((2 * make.shape[0], make.shape[2])),
        "ready": make.flag(2 * make.shape[0] // 64),
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
def staged_matmul_of_gathered_rows(
    a: tw.constant(tw.Tensor["R", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    full: tw.Window["M", "K"], ready: tw.Flag, c: tw.Tensor["M", "N"]
):  # fmt: skip
    tw.barrier()
    for block in tw.persistent(tw.cdiv(R, 64)):
        to = tw.rank() * tw.cdiv(R, 64) + block
        for k in range(0, K, 64):
            tile = tw.load(a[tw.ds(block * 64, 64), tw.ds(k, 64)])
            for r in tw.ranks():
                tw.store(full.at(r)[tw.ds(to * 64, 64), tw.ds(k, 64)], tile)
        for r in tw.ranks():
            tw.set(ready.at(r)[to])
    for t in tw.persistent(tw.tiles(M, N, 64, 64), schedule="dynamic"):
        tw.wait(ready[t.m.start // 64])
        tw.store(c[t.m, t.n], tw.matmul(full[t.m, :], b[t.n, :].T))


@op_case(
    "matmul",
    "barrier",
    inputs=inputs,
    reference=lambda a, b: product(a, b.T),
    dtypes=HALVES,
    shapes=((128, 128, 128), (200, 72, 176), (520, 264, 64)),
    tolerance=0,
    grid=3,
)
@tw.kernel
def staged_matmul_dynamically(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"]
):
    for row in tw.persistent(M, schedule="dynamic"):  # without a product: the consumers draw
        tw.store(c[row, tw.ds(0, 64)], tw.zeros((64,), tw.f32))
    tw.barrier(team="local", scope="grid")
    for t in tw.persistent(tw.tiles(M, N, 64, 64), schedule="dynamic"):
        tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T))


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "ch": make.channel(2, 2, tile=(64, 64), dtype=tw.f32, exchange=True, signed_zero=False),
        "c": make.output(make.shape[:2], tw.f32),
    },
    reference=lambda a, b: [sum(product(x, y.T) for x, y in zip(a, b, strict=True))] * 2,
    dtypes=(tw.bf16,),
    shapes=((64, 64, 128), (136, 72, 80)),
    tolerance=0,
    grid=2,
    world=2,
)
@tw.kernel
def staged_matmul_and_exchange(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], ch: tw.Channel, c: tw.Tensor["M", "N"]
):
    i = tw.program_id(0)
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        parts = tw.exchange(ch[:, i], tw.matmul(a[t.m, :], b[t.n, :].T))
        tw.store(c[t.m, t.n], tw.sum(parts, axis=0))


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "x": make.values((make.shape[0], 4096), tw.f32),
        "to": make.output((make.shape[0], 4096), tw.f32),
        "c": make.output(make.shape[:2], tw.f32),
    },
    reference=lambda a, b, x: {
        "to": x[::-1],
        "c": [product(mine, own.T) for mine, own in zip(a, b, strict=True)],
    },
    dtypes=(tw.bf16,),
    shapes=((64, 64, 128), (136, 72, 80)),
    tolerance=0,
    grid=1,
    world=2,
)
@tw.kernel
def staged_matmul_and_put(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], x: tw.Tensor["M", "H"],
    to: tw.Window["M", "H"], c: tw.Tensor["M", "N"]
):  # fmt: skip
    tw.barrier()
    tw.put(to.at(1 - tw.rank())[:, :], x[:, :])
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T))
    tw.barrier()
