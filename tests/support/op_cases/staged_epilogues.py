"""What is done with products before they are stored, on sm_90a where wgmma left them; elsewhere the
same as any. Products are whole numbers, which are summed exactly; what follows is rounded."""

import numpy as np
import tilewire as tw

from op_cases.case import FP8, HALVES, op_case
from op_cases.matmul import whole
from op_cases.staged_matmul import product

SHAPES = ((128, 128, 128), (200, 72, 192))  # M, N, K
ROWS = ((128, 64, 64), (72, 64, 192))  # N is one tile wide


def inputs(make, **more):
    rows, columns, depth = make.shape
    return {"a": whole(make, (rows, depth)), "b": whole(make, (columns, depth)), **more}


def wide(array):
    return array.astype(np.float64)


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@op_case(
    "matmul",
    inputs=lambda make: inputs(
        make, bias=make.values(make.shape[1]), c=make.output(make.shape[:2])
    ),
    reference=lambda a, b, bias: gelu(product(a, b.T) * 2.0**-8 - 2 + bias),
    dtypes=HALVES,
    shapes=((128, 256, 128), (136, 72, 192)),
    tolerance=2,
    absolute=0.1,
    grid=2,
)
@tw.kernel
def staged_bias_and_gelu(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], bias: tw.Tensor["N"], c: tw.Tensor["M", "N"]
):
    for t in tw.persistent(tw.tiles(M, N, 128, 256)):
        x = tw.matmul(a[t.m, :], b[t.n, :].T) * 2.0**-8 - 2 + tw.load(bias[t.n])[None, :]
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        tw.store(c[t.m, t.n], 0.5 * x * (1 + tw.tanh(inner)))


@op_case(
    "matmul",
    inputs=lambda make: inputs(
        make,
        of_rows=make.values(make.shape[0], tw.f32),
        of_columns=make.values(make.shape[1], tw.f32),
        c=make.output(make.shape[:2], tw.bf16),
    ),
    reference=lambda a, b, of_rows, of_columns: (
        product(a, b.T) * (of_rows[:, None] * of_columns[None, :])
    ),
    dtypes=FP8,
    shapes=SHAPES,
    grid=2,
)
@tw.kernel
def staged_scales(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], of_rows: tw.Tensor["M"],
    of_columns: tw.Tensor["N"], c: tw.Tensor["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 64, 128)):
        scaled = tw.matmul(a[t.m, :], b[t.n, :].T) * tw.load(of_rows[t.m])[:, None]
        tw.store(c[t.m, t.n], scaled * tw.load(of_columns[t.n])[None, :])


@op_case(
    "matmul",
    inputs=lambda make: inputs(
        make,
        residual=make.values(make.shape[:2]),
        c=make.output(make.shape[:2]),
        before=make.output(make.shape[:2], tw.f32),
    ),
    reference=lambda a, b, residual: {
        "c": product(a, b.T) * 2.0**-4 + residual,
        "before": product(a, b.T),
    },
    dtypes=HALVES,
    shapes=SHAPES,
    grid=3,
)
@tw.kernel
def staged_residual(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], residual: tw.Tensor["M", "N"],
    c: tw.Tensor["M", "N"], before: tw.Tensor["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 64)):
        x = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(before[t.m, t.n], x)
        tw.store(c[t.m, t.n], x * 2.0**-4 + tw.load(residual[t.m, t.n]))


def halves(a, b):
    """Of blocks of 64 rows of b that alternate."""
    columns = product(a, b.T).reshape(len(a), -1, 2, 64) * 2.0**-8
    return [columns[:, :, i].reshape(len(a), -1) for i in range(2)]


def silu_and_mul(gate, up):
    return gate / (1 + np.exp(-gate)) * up


@op_case(
    "part",
    inputs=lambda make: inputs(make, c=make.output((make.shape[0], make.shape[1] // 2))),
    reference=lambda a, b: silu_and_mul(*halves(a, b)),
    dtypes=HALVES,
    shapes=((128, 128, 128), (200, 256, 64)),
    tolerance=2,
    grid=2,
)
@tw.kernel
def staged_gated_halves(a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "H"]):
    for t in tw.persistent(tw.tiles(M, N, 128, 128)):
        gate, up = tw.split(tw.matmul(a[t.m, :], b[t.n, :].T) * 2.0**-8, axis=1)
        columns = tw.ds(t.n.start // 2, 64)
        tw.store(c[t.m, columns], gate * tw.sigmoid(gate) * up)


@op_case(
    "cat",
    inputs=lambda make: inputs(
        make, other=make.values((make.shape[0], 64)), c=make.output((make.shape[0], 128))
    ),
    reference=lambda a, b, other: np.concatenate([wide(other), product(a, b.T) * 2.0**-4], axis=1),
    dtypes=HALVES,
    shapes=ROWS,
    grid=2,
)
@tw.kernel
def staged_joined(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], other: tw.Tensor["M", 64],
    c: tw.Tensor["M", 128]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        x = tw.matmul(a[t.m, :], b[t.n, :].T) * 2.0**-4
        tw.store(c[t.m, :], tw.cat(tw.load(other[t.m, :]), x, axis=1))


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@op_case(
    "matmul",
    inputs=lambda make: inputs(
        make, c=make.output(make.shape[:2]), best=make.output(make.shape[0], tw.i32)
    ),
    reference=lambda a, b: {
        "c": softmax(product(a, b.T) * 2.0**-5),
        "best": np.argmax(product(a, b.T), axis=1),
    },
    dtypes=HALVES,
    shapes=ROWS,
    tolerance=2,
    grid=2,
)
@tw.kernel
def staged_softmax(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"], best: tw.Tensor["M"]
):
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        x = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(best[t.m], tw.argmax(x, axis=1))
        powers = tw.exp((x - tw.max(x, axis=1)[:, None]) * 2.0**-5)
        tw.store(c[t.m, t.n], powers / tw.sum(powers, axis=1)[:, None])


@op_case(
    "matmul",
    inputs=lambda make: inputs(
        make,
        of_rows=make.output(make.shape[0], tw.f32),
        of_columns=make.output(make.shape[1], tw.f32),
        c=make.output(make.shape[:2], tw.f32),
    ),
    reference=lambda a, b: {
        "of_rows": product(a, b.T).sum(axis=1),
        "of_columns": product(a, b.T).sum(axis=0),
        "c": product(a, b.T) + product(a, b.T).max(axis=0),
    },
    dtypes=HALVES,
    shapes=((128, 64, 64),),
    tolerance=0,
    grid=1,
)
@tw.kernel
def staged_sums(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], of_rows: tw.Tensor["M"],
    of_columns: tw.Tensor["N"], c: tw.Tensor["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 64)):
        x = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(of_rows[t.m], tw.sum(x, axis=1))
        tw.store(of_columns[t.n], tw.sum(x, axis=0))
        tw.store(c[t.m, t.n], x + tw.max(x, axis=0)[None, :])


def quantised(x):
    scales = np.maximum(np.abs(x).max(axis=1), 1) / 448
    return {"scales": scales, "c": x / scales[:, None]}


@op_case(
    "matmul",
    inputs=lambda make: inputs(
        make,
        scales=make.output(make.shape[0], tw.f32),
        c=make.output(make.shape[:2], tw.e4m3),
    ),
    reference=lambda a, b: quantised(product(a, b.T)),
    dtypes=HALVES,
    shapes=ROWS,
    tolerance=1,
    grid=2,
)
@tw.kernel
def staged_quantised(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], scales: tw.Tensor["M"], c: tw.Tensor["M", "N"]
):
    for t in tw.persistent(tw.tiles(M, N, 64, 64)):
        x = tw.matmul(a[t.m, :], b[t.n, :].T)
        scale = tw.maximum(tw.max(tw.abs(x), axis=1), 1.0) / 448.0
        tw.store(scales[t.m], scale)
        tw.store(c[t.m, t.n], x / scale[:, None])


@op_case(
    "matmul",
    inputs=lambda make: inputs(
        make,
        others=make.integers(0, 9, (make.shape[0], 32)),
        turned=make.output((make.shape[1], make.shape[0]), tw.f32),
        first=make.output((make.shape[0] // 2, make.shape[1]), tw.f32),
        pairs=make.output((make.shape[0], make.shape[1] // 2), tw.f32),
        total=make.output((1,), tw.f32),
        dots=make.output(make.shape[0], tw.f32),
    ),
    reference=lambda a, b, others: {
        "turned": product(a, b.T).T,
        "first": product(a, b.T)[: len(a) // 2],
        "pairs": product(a, b.T).reshape(len(a), -1, 2).sum(axis=2),
        "total": product(a, b.T).sum(keepdims=True).reshape(1),
        "dots": product(a, b.T).max(axis=1) + others.sum(axis=1),
    },
    dtypes=HALVES,
    shapes=((128, 64, 64),),
    absolute=8,
    grid=1,
)
@tw.kernel
def staged_meets_other_layouts(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], others: tw.Tensor["M", 32],
    turned: tw.Tensor["N", "M"], first: tw.Tensor["H", "N"], pairs: tw.Tensor["M", "P"],
    total: tw.Tensor[1], dots: tw.Tensor["M"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 64)):
        x = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(turned[t.n, t.m], x.T)
        tw.store(first[tw.ds(0, 64), t.n], tw.split(x, axis=0)[0])
        tw.store(pairs[t.m, tw.ds(0, 32)], tw.sum(tw.reshape(x, (128, 32, 2)), axis=2))
        tw.store(total[0], tw.sum(x))
        tw.store(dots[t.m], tw.max(x, axis=1) + tw.sum(tw.load(others[t.m, :]), axis=1))
