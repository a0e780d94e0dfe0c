"""Products whose left operand is in registers (sm_90a, where another one left it there, or where it
is multiplied more than once); elsewhere the same as any."""

import numpy as np
import tilewire as tw

from op_cases.case import HALVES, op_case
from op_cases.staged_matmul import product

SHAPES = ((128, 64), (200, 136), (3, 8))  # M, N


def whole(make, shape):
    """Integers from -2 to 2 in the case's dtype."""
    return make.integers(-2, 2, shape).astype(make.values((1,)).dtype)


def two_layers(a, b, w):
    return product(np.clip(product(a, b.T), -16, 16), w)


def layers(make, depth=64, columns=64, turned=False):
    rows, inner = make.shape
    w = whole(make, (inner, columns)[:: -1 if turned else 1])
    return {
        "a": whole(make, (rows, depth)),
        "b": whole(make, (inner, depth)),
        "w": w,
        "c": make.output((rows, columns), tw.f32),
    }


@op_case(
    "matmul",
    inputs=layers,
    reference=two_layers,
    dtypes=HALVES,
    shapes=SHAPES,
    tolerance=0,
    grid=2,
)
@tw.kernel
def two_products_in_a_loop(
    a: tw.Tensor["M", 64], b: tw.Tensor["N", 64], w: tw.Tensor["N", 64], c: tw.Tensor["M", 64]
):
    for t in tw.persistent(tw.tiles(M, 64, 64, 64)):
        left = tw.load(a[t.m, :])
        acc = tw.zeros((64, 64), tw.f32)
        for n in range(0, N, 64):
            some = tw.ds(n, 64)
            inner = tw.matmul(left, tw.load(b[some, :]).T)
            inner = tw.cast(tw.clamp(inner, -16, 16), a.dtype)
            acc = tw.matmul(inner, tw.load(w[some, :]), acc=acc)
        tw.store(c[t.m, t.n], acc)


@op_case(
    "matmul",
    inputs=lambda make: layers(make, depth=128, columns=72, turned=True),
    reference=lambda a, b, w: two_layers(a, b, w.T),
    dtypes=HALVES,
    shapes=SHAPES,
    tolerance=0,
    grid=2,
)
@tw.kernel
def two_products_of_several_blocks(
    a: tw.Tensor["M", 128], b: tw.Tensor["N", 128], w: tw.Tensor[72, "N"], c: tw.Tensor["M", 72]
):
    for t in tw.persistent(tw.tiles(M, 72, 256, 72)):
        acc = tw.zeros((256, 72), tw.f32)
        for n in range(0, N, 64):
            some = tw.ds(n, 64)
            inner = tw.matmul(a[t.m, :], b[some, :].T)
            inner = tw.cast(tw.clamp(inner, -16, 16), a.dtype)
            acc = tw.matmul(inner, tw.load(w[:, some]).T, acc=acc)
        tw.store(c[t.m, t.n], acc)


@op_case(
    "matmul",
    inputs=layers,
    reference=two_layers,
    dtypes=HALVES,
    shapes=((256, 64), (200, 136), (65, 8)),
    tolerance=0,
    grid=4,
)
@tw.kernel
def two_products_in_clusters(
    a: tw.Tensor["M", 64],
    b: tw.constant(tw.Tensor["N", 64]),
    w: tw.constant(tw.Tensor["N", 64]),
    c: tw.Tensor["M", 64],
):
    for t in tw.persistent(tw.tiles(M, 64, 64, 64, order="grouped", group=4, cluster=2)):
        left = tw.load(a[t.m, :])
        acc = tw.zeros((64, 64), tw.f32)
        for n in range(0, N, 64):
            some = tw.ds(n, 64)
            inner = tw.matmul(left, tw.load(b[some, :]).T)
            inner = tw.cast(tw.clamp(inner, -16, 16), a.dtype)
            acc = tw.matmul(inner, tw.load(w[some, :]), acc=acc)
        tw.store(c[t.m, t.n], acc)


@op_case(
    "matmul",
    inputs=lambda make: {
        "a": whole(make, (make.shape[0], 64)),
        "b": whole(make, (make.shape[1], 64)),
        "w": whole(make, (make.shape[1], 64)),
        "c": make.output(make.shape, tw.f32),
    },
    reference=lambda a, b, w: product(a, b.T) - 3 * product(a, w.T) + product(-a, b.T),
    dtypes=HALVES,
    shapes=SHAPES,
    tolerance=0,
    grid=3,
)
@tw.kernel
def multiplied_by_several(
    a: tw.Tensor["M", 64], b: tw.Tensor["N", 64], w: tw.Tensor["N", 64], c: tw.Tensor["M", "N"]
):
    for t in tw.persistent(tw.tiles(M, N, 128, 64)):
        left = tw.load(a[t.m, :])
        gate = tw.matmul(left, tw.load(b[t.n, :]).T)
        up = tw.matmul(left, tw.load(w[t.n, :]).T)
        turned = tw.matmul(-left, tw.load(b[t.n, :]).T)
        tw.store(c[t.m, t.n], gate - 3 * up + turned)


def softmax_of_scores(q, k, v):
    score = product(q, k.T) / 8
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    return product(weight / weight.sum(axis=1, keepdims=True), v)


def heads(make):
    rows, keys = make.shape
    return {
        "q": make.values((rows, 64)),
        "k": make.values((keys, 64)),
        "v": make.values((keys, 64)),
        "o": make.output((rows, 64)),
    }


@op_case(
    "matmul",
    inputs=heads,
    reference=softmax_of_scores,
    dtypes=HALVES,
    shapes=((128, 128), (70, 200), (1, 1)),
    tolerance=2,  # weights are rounded before they are multiplied
    absolute=2,
    grid=2,
)
@tw.kernel
def attention_of_a_head(
    q: tw.Tensor["M", 64], k: tw.Tensor["N", 64], v: tw.Tensor["N", 64], o: tw.Tensor["M", 64]
):
    for t in tw.persistent(tw.tiles(M, 1, 64, 1)):
        query = tw.load(q[t.m, :])
        most = tw.full((64,), -1e30, tw.f32)
        total = tw.zeros((64,), tw.f32)
        acc = tw.zeros((64, 64), tw.f32)
        for start in range(0, N, 64):
            some = tw.ds(start, 64)
            score = tw.matmul(query, tw.load(k[some, :]).T) * 0.125
            score = tw.where((tw.arange(0, 64) + start < N)[None, :], score, -1e30)
            now = tw.maximum(most, tw.max(score, axis=1))
            weight = tw.exp(score - now[:, None])
            shrink = tw.exp(most - now)
            total = total * shrink + tw.sum(weight, axis=1)
            acc = tw.matmul(
                tw.cast(weight, q.dtype), tw.load(v[some, :]), acc=acc * shrink[:, None]
            )
            most = now
        tw.store(o[t.m, :], acc / total[:, None])
