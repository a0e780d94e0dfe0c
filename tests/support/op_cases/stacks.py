"""Stacks: folded into what uses them, and put together where they can't be."""

import numpy as np
import tilewire as tw

from op_cases.case import ALL, INTEGERS, NUMBERS, op_case


def three(make):
    return {name: make.values() for name in ("a", "b", "c")}


def sums(a, b, c):
    return np.stack([a, b, c]).sum(axis=0)


@op_case(
    "stack",
    inputs=lambda make: {
        **three(make),
        "total": make.output(dtype=tw.i64 if make.dtype in INTEGERS else tw.f32),
        "high": make.output(),
        "low": make.output(),
    },
    reference=lambda a, b, c: {
        "total": sums(a, b, c),
        "high": np.maximum(np.maximum(a, b), c),
        "low": np.minimum(np.minimum(a, b), c),
    },
    dtypes=(tw.bf16, tw.f16, tw.f32, tw.i32, tw.u8),
    absolute=4,
)
@tw.kernel
def reduce_stacks(
    a: tw.Tensor["T", "H"], b: tw.Tensor["T", "H"], c: tw.Tensor["T", "H"],
    total: tw.Tensor["T", "H"], high: tw.Tensor["T", "H"], low: tw.Tensor["T", "H"], *,
    H: tw.const
):  # fmt: skip
    for row in tw.persistent(T):
        all_three = tw.stack((tw.load(a[row, :]), tw.load(b[row, :]), tw.load(c[row, :])))
        tw.store(total[row, :], tw.sum(all_three, axis=0))
        tw.store(high[row, :], tw.max(all_three, axis=0))
        tw.store(low[row, :], tw.min(all_three, axis=0))


@op_case(
    "stack",
    inputs=lambda make: {
        **three(make),
        "y": make.output((make.shape[0], 3, make.shape[1])),
        "ends": make.output((make.shape[0], 2, make.shape[1])),
        "first": make.output((make.shape[0], 3)),
    },
    reference=lambda a, b, c: {
        "y": np.stack([a, b, c], axis=1),
        "ends": np.stack([c, b], axis=1),
        "first": np.stack([a[:, 0], b[:, 0], c[:, 0]], axis=1),
    },
    dtypes=ALL,
)
@tw.kernel
def parts_of_stacks(
    a: tw.Tensor["T", "H"], b: tw.Tensor["T", "H"], c: tw.Tensor["T", "H"],
    y: tw.Tensor["T", 3, "H"], ends: tw.Tensor["T", 2, "H"], first: tw.Tensor["T", 3], *,
    H: tw.const
):  # fmt: skip
    for row in tw.persistent(T):
        parts = tw.stack((tw.load(a[row, :]), tw.load(b[row, :]), tw.load(c[row, :])))
        tw.store(y[row, :, :], parts)
        tw.store(ends[row, 0, :], parts[2])
        tw.store(ends[row, 1, :], parts[1:][0, :])
        for i in range(3):
            tw.store(first[row, i], parts[i, 0])


@op_case(
    "stack",
    inputs=lambda make: {
        **three(make),
        "scale": make.values(),
        "y": make.output((3, *make.shape)),
        "lines": make.output((3, make.shape[0])),
        "columns": make.output((make.shape[1], 3)),
    },
    reference=lambda a, b, c, scale: {
        "y": np.cumsum(np.stack([a, b, c]), axis=0),
        "lines": (np.stack([a, b, c]) * scale).max(axis=2),
        "columns": np.stack([a[0], b[0], c[0]], axis=1),
    },
    dtypes=(tw.f32, tw.f64, tw.i32),
    tolerance=4,
    absolute=4,
    grid=1,
)
@tw.kernel
def put_stacks_together(
    a: tw.Tensor["T", "H"], b: tw.Tensor["T", "H"], c: tw.Tensor["T", "H"],
    scale: tw.Tensor["T", "H"], y: tw.Tensor[3, "T", "H"], lines: tw.Tensor[3, "T"],
    columns: tw.Tensor["H", 3], *, T: tw.const, H: tw.const
):  # fmt: skip
    parts = tw.stack((tw.load(a[:, :]), tw.load(b[:, :]), tw.load(c[:, :])))
    tw.store(y[:, :, :], tw.cumsum(parts, axis=0))
    tw.store(lines[:, :], tw.max(parts * tw.load(scale[:, :])[None, :, :], axis=2))
    rows = tw.stack((tw.load(a[0, :]), tw.load(b[0, :]), tw.load(c[0, :])))
    tw.store(columns[:, :], rows.T)


@op_case(
    "stack",
    inputs=lambda make: {"x": make.values(), "y": make.output(3), "all": make.output(1)},
    reference=lambda x: {
        "y": np.array([x.min(), x.max(), x.flat[0]]),
        "all": np.array([max(x.min(), x.max(), x.flat[0])]),
    },
    dtypes=NUMBERS,
    grid=1,
)
@tw.kernel
def stack_scalars(
    x: tw.Tensor["T", "H"], y: tw.Tensor[3], all: tw.Tensor[1], *, T: tw.const, H: tw.const
):
    tile = tw.load(x[:, :])
    scalars = tw.stack((tw.min(tile), tw.max(tile), tile[0, 0]))
    tw.store(y[:], scalars)
    tw.store(all[0], tw.max(scalars))
