"""Products of tiles and of views; sums of small whole numbers, which every format holds exactly."""

import numpy as np
import tilewire as tw

from op_cases.case import FP8, HALVES, op_case

BYTES = (tw.i8, tw.u8)
DTYPES = (*HALVES, tw.f32, tw.f64, *FP8, *BYTES)
SHAPES = ((64, 32, 48), (33, 9, 70), (1, 1, 1))  # M, N, K


def whole(make, shape):
    """Integers from 0 to 4 in the case's dtype."""
    return make.values(shape, tw.i32, 0, 4).astype(make.values((1,)).dtype)


def result_of(dtype):
    return tw.f64 if dtype == tw.f64 else tw.i32 if dtype in BYTES else tw.f32


def inputs(make):
    rows, columns, depth = make.shape
    return {
        "a": whole(make, (rows, depth)),
        "b": whole(make, (depth, columns)),
        "c": make.output((rows, columns), result_of(make.dtype)),
    }


@op_case(
    "matmul",
    inputs=inputs,
    reference=lambda a, b: 2 + a.astype(np.float64) @ b,
    dtypes=DTYPES,
    shapes=SHAPES,
    tolerance=0,
    grid=1,
)
@tw.kernel
def matmul_of_tiles(
    a: tw.Tensor["M", "K"], b: tw.Tensor["K", "N"], c: tw.Tensor["M", "N"], *, M: tw.const,
    N: tw.const, K: tw.const
):  # fmt: skip
    acc = tw.full((M, N), 2, c.dtype)
    tw.store(c[:, :], tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]), acc=acc))


@op_case(
    "matmul",
    inputs=inputs,
    reference=lambda a, b: a.astype(np.float64) @ b,
    dtypes=DTYPES,
    shapes=SHAPES,
    tolerance=0,
    constants={"B": 16},
    grid=2,
)
@tw.kernel
def matmul_of_views(
    a: tw.Tensor["M", "K"], b: tw.Tensor["K", "N"], c: tw.Tensor["M", "N"], *, B: tw.const
):
    columns = tw.cdiv(N, B)
    for t in tw.persistent(tw.cdiv(M, B) * columns):
        rows, others = tw.ds(t // columns * B, B), tw.ds(t % columns * B, B)
        product = tw.matmul(a[rows, :], b[:, others], block_k=32, precision="ieee")
        tw.store(c[rows, others], product)


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (3, make.shape[2], make.shape[0])),
        "b": whole(make, (3, make.shape[1], make.shape[2])),
        "c": make.output((3, *make.shape[:2]), result_of(make.dtype)),
    },
    reference=lambda a, b: a.astype(np.float64).swapaxes(1, 2) @ b.swapaxes(1, 2),
    dtypes=DTYPES,
    shapes=((16, 8, 32), (9, 5, 7)),
    tolerance=0,
    grid=1,
)
@tw.kernel
def matmul_of_batches(
    a: tw.Tensor[3, "K", "M"], b: tw.Tensor[3, "N", "K"], c: tw.Tensor[3, "M", "N"], *, M: tw.const,
    N: tw.const, K: tw.const
):  # fmt: skip
    product = tw.matmul(
        tw.load(a[:, :, :]), tw.load(b[:, :, :]), transpose_a=True, transpose_b=True
    )
    tw.store(c[:, :, :], product)
