"""Products in loops whose operands all threads copy to shared memory some iterations ahead, where
there is no wgmma. Sums of small whole numbers, which every format holds exactly."""

import numpy as np
import tilewire as tw

from op_cases.case import HALVES, op_case
from op_cases.matmul import result_of, whole

SHAPES = ((128, 128, 128), (200, 72, 176), (3, 16, 1040), (72, 130, 40))  # M, N, K


def inputs(make):
    rows, columns, depth = make.shape
    return {
        "a": whole(make, (rows, depth)),
        "b": whole(make, (columns, depth)),
        "c": make.output((rows, columns), result_of(make.dtype)),
    }


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


@op_case(
    "matmul",
    inputs=inputs,
    reference=lambda a, b: product(a, b.T),
    dtypes=(*HALVES, tw.f32, tw.e4m3, tw.e5m2, tw.i8),
    shapes=SHAPES,
    tolerance=0,
    grid=2,
    architecture="sm_80",
)
@tw.kernel
def matmul_ahead(a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"]):
    for t in tw.persistent(tw.tiles(M, N, 128, 64)):
        tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T, block_k=32))


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[2], make.shape[0])),
        "b": whole(make, (make.shape[2], make.shape[1])),
        "c": make.output(make.shape[:2], tw.f32),
    },
    reference=lambda a, b: product(a.T, b),
    dtypes=HALVES,
    shapes=((128, 128, 128), (200, 72, 176), (72, 136, 40)),
    tolerance=0,
    grid=3,
    architecture="sm_80",
)
@tw.kernel
def matmul_ahead_by_lines(a: tw.Tensor["K", "M"], b: tw.Tensor["K", "N"], c: tw.Tensor["M", "N"]):
    for t in tw.persistent(tw.tiles(M, N, 64, 128)):
        tw.store(c[t.m, t.n], tw.matmul(a[:, t.m].T, b[:, t.n], block_k=16, stages=2))


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "gate": whole(make, (make.shape[1], make.shape[2])),
        "up": whole(make, (make.shape[1], make.shape[2])),
        "bias": whole(make, (make.shape[1],)),
        "c": make.output(make.shape[:2]),
        "rows": make.output((make.shape[0],), tw.f32),
    },
    reference=lambda a, gate, up, bias: {
        "c": product(a, gate.T) * 2.0**-6
        + np.maximum(product(a, up.T) * 2.0**-6 + bias.astype(np.float64), 4),
        "rows": product(a, gate.T).max(axis=1),
    },
    dtypes=HALVES,
    shapes=((128, 64, 64), (72, 64, 136)),
    grid=2,
    architecture="sm_80",
)
@tw.kernel
def matmul_ahead_of_a_common_operand(
    a: tw.Tensor["M", "K"], gate: tw.Tensor["N", "K"], up: tw.Tensor["N", "K"],
    bias: tw.Tensor["N"], c: tw.Tensor["M", "N"], rows: tw.Tensor["M"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        left = tw.zeros((64, 64), tw.f32)
        right = tw.zeros((64, 64), tw.f32)
        for k in range(0, K, 32):
            x = tw.load(a[t.m, tw.ds(k, 32)])
            left = tw.matmul(x, tw.load(gate[t.n, tw.ds(k, 32)]).T, acc=left)
            right = tw.matmul(x, tw.load(up[t.n, tw.ds(k, 32)]).T, acc=right)
        shifted = right * 2.0**-6 + tw.load(bias[t.n])[None, :]
        tw.store(c[t.m, t.n], left * 2.0**-6 + tw.maximum(shifted, 4.0))
        tw.store(rows[t.m], tw.max(left, axis=1))


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], make.shape[2])),
        "b": whole(make, (make.shape[1], make.shape[2])),
        "c": make.output(make.shape[:2], tw.f32),
    },
    reference=lambda a, b: product(a, b.T),
    dtypes=HALVES,
    shapes=((64, 64, 204), (100, 48, 102)),  # rows of 8 and of 4 bytes
    tolerance=0,
    grid=1,
    architecture="sm_80",
)
@tw.kernel
def matmul_ahead_of_short_vectors(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"], *, K: tw.const
):
    for t in tw.persistent(tw.tiles(M, N, 64, 48)):
        tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T, block_k=32, stages=3))
