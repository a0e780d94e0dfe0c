"""Products large enough that a producer stages their operands (sm_90a); elsewhere the same as any.
Sums of small whole numbers, which every format holds exactly."""

import numpy as np
import tilewire as tw

from op_cases.case import FP8, HALVES, op_case
from op_cases.matmul import whole

SHAPES = ((128, 128, 128), (200, 72, 176), (64, 64, 64), (3, 16, 1040))  # M, N, K


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def inputs(make):
    rows, columns, depth = make.shape
    return {
        "a": whole(make, (rows, depth)),
        "b": whole(make, (columns, depth)),
        "c": make.output((rows, columns), tw.f32),
    }


@op_case(
    "matmul",
    inputs=inputs,
    reference=lambda a, b: product(a, b.T),
    dtypes=(*HALVES, *FP8, tw.f32),
    shapes=SHAPES,
    tolerance=0,
    grid=2,
)
@tw.kernel
def staged_matmul(a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"]):
    for t in tw.persistent(tw.tiles(M, N, 128, 64)):
        tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T))


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[2], make.shape[0])),
        "b": whole(make, (make.shape[2], make.shape[1])),
        "c": make.output(make.shape[:2], tw.f32),
    },
    reference=lambda a, b: product(a.T, b),
    dtypes=HALVES,
    shapes=((128, 128, 128), (200, 72, 176)),
    tolerance=0,
    grid=3,
)
@tw.kernel
def staged_matmul_by_lines(a: tw.Tensor["K", "M"], b: tw.Tensor["K", "N"], c: tw.Tensor["M", "N"]):
    for t in tw.persistent(tw.tiles(M, N, 64, 128)):
        tw.store(c[t.m, t.n], tw.matmul(a[:, t.m].T, b[:, t.n], stages=2))


@op_case(
    "matmul",
    inputs=inputs,
    reference=lambda a, b: product(a, b.T),
    dtypes=HALVES,
    shapes=((128, 128, 128), (200, 72, 176), (520, 264, 64)),
    tolerance=0,
    grid=4,
)
@tw.kernel
def staged_matmul_in_clusters(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"]
):
    for t in tw.persistent(tw.tiles(M, N, 64, 64, order="grouped", group=4, cluster=2)):
        tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T))


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "gate": whole(make, (make.shape[1], make.shape[2])),
        "up": whole(make, (make.shape[1], make.shape[2])),
        "bias": whole(make, (make.shape[1],)),
        "c": make.output(make.shape[:2]),
    },
    reference=lambda a, gate, up, bias: (
        product(a, gate.T) * 2.0**-6
        + np.maximum(product(a, up.T) * 2.0**-6 + bias.astype(np.float64), 4)
    ),
    dtypes=HALVES,
    shapes=((128, 128, 64), (72, 200, 128)),
    grid=2,
)
@tw.kernel
def staged_matmul_twice(
    a: tw.Tensor["M", "K"], gate: tw.Tensor["N", "K"], up: tw.Tensor["N", "K"],
    bias: tw.Tensor["N"], c: tw.Tensor["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        left = tw.zeros((64, 64), tw.f32)
        right = tw.zeros((64, 64), tw.f32)
        for k in range(0, K, 64):
            x = a[t.m, tw.ds(k, 64)]
            left = tw.matmul(tw.load(x), tw.load(gate[t.n, tw.ds(k, 64)]).T, acc=left)
            right = tw.matmul(tw.load(x), tw.load(up[t.n, tw.ds(k, 64)]).T, acc=right)
        shifted = right * 2.0**-6 + tw.load(bias[t.n])[None, :]
        tw.store(c[t.m, t.n], left * 2.0**-6 + tw.maximum(shifted, 4.0))


@op_case(
    "matmul",
    inputs=lambda make: {
        "x": whole(make, (make.shape[0], make.shape[2])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "c": make.output(make.shape[:2], tw.f32),
    },
    reference=lambda x, b: [product(mine, own.T) for mine, own in zip(x, b, strict=True)],
    dtypes=(tw.bf16,),
    shapes=((64, 64, 128), (136, 72, 80)),
    tolerance=0,
    grid=1,
    world=2,
)
@tw.kernel
def staged_matmul_of_a_window(
    x: tw.Window["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"]
):
    tw.barrier()
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        tw.store(c[t.m, t.n], tw.matmul(x[t.m, :], b[t.n, :].T))
    tw.barrier()


def sums_of(c):
    """Of the rows of each of three parts, divided as torch.chunk does."""
    size = -(-len(c) // 3)
    return np.stack([c[i * size : (i + 1) * size].sum(axis=0) for i in range(3)])


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "c": make.output(make.shape[:2], tw.f32),
        "sums": make.output((3, make.shape[1]), tw.f32),
    },
    reference=lambda a, b: {"c": product(a, b.T), "sums": sums_of(product(a, b.T))},
    dtypes=HALVES,
    shapes=((96, 64, 64), (100, 72, 80), (190, 136, 48)),
    tolerance=0,
    grid=4,
)
@tw.kernel
def staged_matmul_in_parts(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"], sums: tw.Tensor[3, "N"]
):
    # A part's tile ends inside of a and of c, where the next part's rows are.
    for t in tw.persistent(tw.tiles(M, N, 64, 64, split=3)):
        total = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(sums[t.part, t.n], tw.sum(total, axis=0))
        tw.store(c[t.m, t.n], total)


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[2], make.shape[0])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "c": make.output(make.shape[:2], tw.f32),
    },
    reference=lambda a, b: product(a.T, b.T),
    dtypes=HALVES,
    shapes=((192, 64, 64), (200, 72, 80)),
    tolerance=0,
    grid=2,
)
@tw.kernel
def matmul_of_parts_by_lines(
    a: tw.Tensor["K", "M"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"]
):
    # A part may begin at no multiple of 16 bytes, where TMA can't.
    for t in tw.persistent(tw.tiles(M, N, 64, 64, split=3)):
        tw.store(c[t.m, t.n], tw.matmul(a[:, t.m].T, b[t.n, :].T))
