"""Instances that meet at places of a launch, of which the last one goes on: parts of K of one
product, parts of one sum. Products of small whole numbers, which every format holds exactly."""

import numpy as np
import tilewire as tw

from op_cases.case import FP8, HALVES, op_case
from op_cases.matmul import whole

BLOCK = 64  # along K, in elements


def parts_of(a, b, count, block=BLOCK):
    """The products of `count` parts of K, of whole blocks."""
    blocks = -(-a.shape[1] // block)
    chunk = -(-blocks // count) * block
    columns = [slice(i * chunk, (i + 1) * chunk) for i in range(count)]
    return np.stack([a[:, each] @ b[:, each].T for each in columns])


def inputs(make, count=3):
    rows, columns, depth = make.shape
    return {
        "a": whole(make, (rows, depth)),
        "b": whole(make, (columns, depth)),
        "parts": make.output((count, rows, columns), tw.f32),
        "c": make.output((rows, columns), tw.f32),
    }


def expected(a, b, count=3, block=BLOCK):
    parts = parts_of(a, b, count, block)
    return {"parts": parts, "c": parts.sum(axis=0)}


SHAPES = ((64, 64, 512), (200, 72, 1008), (3, 16, 176), (70, 130, 64))  # M, N, K


@op_case(
    "arrive",
    inputs=inputs,
    reference=lambda a, b: expected(a, b),
    dtypes=HALVES,
    shapes=SHAPES,
    tolerance=0,
    grid=4,
)
@tw.kernel
def split_k(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    parts: tw.Tensor["S", "M", "N"], c: tw.Tensor["M", "N"], *, S: tw.const
):  # fmt: skip
    tiles = tw.tiles(M, N, 64, 64, k=K, block_k=64, split_k=S)
    for t in tw.persistent(tiles, schedule="dynamic"):  # whose counter has words beside the places'
        product = tw.matmul(a[t.m, t.k], b[t.n, t.k].T, block_k=64)
        tw.store(parts[t.k_part, t.m, t.n], product)
        if tw.arrive(t):
            total = tw.load(parts[0, t.m, t.n])
            for s in tw.unroll(1, S):
                total += tw.load(parts[s, t.m, t.n])
            tw.store(c[t.m, t.n], total)


@op_case(
    "arrive",
    inputs=lambda make: inputs(make, 5),
    reference=lambda a, b: expected(a, b, 5, 128),
    dtypes=(*FP8, tw.bf16),
    shapes=((128, 64, 640), (136, 200, 1040), (16, 64, 2048)),
    tolerance=0,
    grid=6,
)
@tw.kernel
def split_k_in_clusters(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    parts: tw.Tensor["S", "M", "N"], c: tw.Tensor["M", "N"], *, S: tw.const
):  # fmt: skip
    tiles = tw.tiles(M, N, 64, 64, order="grouped", group=4, cluster=2, k=K, block_k=128, split_k=S)
    for t in tw.persistent(tiles):
        product = tw.matmul(a[t.m, t.k], b[t.n, t.k].T, block_k=128, stages=3)
        tw.store(parts[t.k_part, t.m, t.n], product)
        if tw.arrive(t):
            total = tw.load(parts[0, t.m, t.n])
            for s in range(1, S):
                total += tw.load(parts[s, t.m, t.n])
            tw.store(c[t.m, t.n], total)


@op_case(
    "arrive",
    inputs=lambda make: {
        "a": whole(make, (3, make.shape[0], make.shape[2])),
        "b": whole(make, (3, make.shape[1], make.shape[2])),
        "bias": whole(make, (make.shape[1],)),
        "parts": make.output((2, 3, make.shape[0], make.shape[1]), tw.f32),
        "c": make.output((3, make.shape[0], make.shape[1] // 2), tw.f32),
    },
    reference=lambda a, b, bias: batched(a, b, bias),
    dtypes=HALVES,
    shapes=((64, 64, 256), (40, 192, 200), (1, 64, 8)),
    tolerance=0,
    grid=5,
)
@tw.kernel
def split_k_in_batches(
    a: tw.constant(tw.Tensor["B", "M", "K"]), b: tw.constant(tw.Tensor["B", "N", "K"]),
    bias: tw.Tensor["N"], parts: tw.Tensor[2, "B", "M", "N"], c: tw.Tensor["B", "M", "HALF"]
):  # fmt: skip
    # A matrix after the other: parts of all their rows. Behind the sum, columns in pairs of halves.
    for t in tw.persistent(tw.tiles(B * M, N, 64, 64, split=B, k=K, block_k=64, split_k=2)):
        rows = t.local_m
        product = tw.matmul(a[t.part, rows, t.k], b[t.part, t.n, t.k].T, block_k=64)
        tw.store(parts[t.k_part, t.part, rows, t.n], product)
        if tw.arrive(t):
            total = tw.load(parts[0, t.part, rows, t.n]) + tw.load(parts[1, t.part, rows, t.n])
            left, right = tw.split(total + tw.load(bias[t.n])[None, :], axis=1)
            halves = tw.ds(t.n.start // 2, 32)
            tw.store(c[t.part, rows, halves], tw.maximum(left, right))


def batched(a, b, bias):
    parts = np.stack([parts_of(x, y, 2) for x, y in zip(a, b, strict=True)], axis=1)
    total = (parts.sum(axis=0) + bias).reshape(*parts.shape[1:3], -1, 2, 32)
    c = np.maximum(total[..., 0, :], total[..., 1, :])
    return {"parts": parts, "c": c.reshape(*parts.shape[1:3], -1)}


@op_case(
    "arrive",
    inputs=lambda make: {
        "x": whole(make, make.shape),
        "parts": make.output((2, 3), tw.f32),
        "y": make.output((2,), tw.f32),
    },
    reference=lambda x: {
        "parts": np.stack([partial(x), partial(abs(x))]),
        "y": np.array([x.sum(), abs(x).sum()]),
    },
    dtypes=(tw.f32,),
    shapes=((1000,), (64,), (1,)),
    tolerance=0,
    grid=3,
)
@tw.kernel
def sums_by_the_last(x: tw.Tensor["N"], parts: tw.Tensor[2, 3], y: tw.Tensor[2]):
    # One place of one kind, two of another.
    total, size = 0.0, 0.0
    for b in tw.persistent(tw.cdiv(N, 64)):
        block = tw.load(x[tw.ds(b * 64, 64)])
        total += tw.sum(block)
        size += tw.sum(tw.abs(block))
    i = tw.program_id(0)
    tw.store(parts[0, i], total)
    if tw.arrive(0, count=tw.num_programs(0), places=1):
        tw.store(y[0], tw.sum(tw.load(parts[0, :])))
    tw.store(parts[1, i], size)
    if tw.arrive(1, count=3, places=tw.minimum(N + 1, 2)):
        tw.store(y[1], tw.sum(tw.load(parts[1, :])))


def partial(x):
    """What each of three instances adds up."""
    blocks = [x[i : i + 64].sum() for i in range(0, len(x), 64)]
    return np.array([sum(blocks[i::3]) for i in range(3)])
