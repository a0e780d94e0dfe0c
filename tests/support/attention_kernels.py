"""Attention as a page of tiles: what one product leaves in registers is the left operand of the
next."""

from __future__ import annotations

import tilewire as tw

LOG2_E = 1.4426950408889634


@tw.kernel
def attention(
    q: tw.Tensor["B", "M", "D"],
    k: tw.constant(tw.Tensor["B", "N", "D"]),
    v: tw.constant(tw.Tensor["B", "N", "D"]),
    o: tw.Tensor["B", "M", "D"],
    scale: tw.f32,
    *,
    D: tw.const,
    BM: tw.const,
    BN: tw.const,
):
    """softmax(scale · q · kᵀ) · v for each of B heads; sums stay in f32. `scale` is positive."""
    for t in tw.persistent(tw.tiles(B * M, 1, BM, 1, split=B)):
        factor = scale * LOG2_E
        query = tw.load(q[t.part, t.local_m, :])
        most = tw.full((BM,), -1e30, tw.f32)
        total = tw.zeros((BM,), tw.f32)
        acc = tw.zeros((BM, D), tw.f32)
        for start in range(0, N, BN):
            some = tw.ds(start, BN)
            score = tw.matmul(query, k[t.part, some, :].T)
            if start + BN > N:
                score = tw.where((tw.arange(0, BN) + start < N)[None, :], score, -1e30)
            now = tw.maximum(most, tw.max(score, axis=1))
            weight = tw.exp2(score * factor - (now * factor)[:, None])
            shrink = tw.exp2((most - now) * factor)
            total = total * shrink + tw.sum(weight, axis=1)
            acc *= shrink[:, None]
            acc = tw.matmul(tw.cast(weight, q.dtype), v[t.part, some, :], acc=acc)
            most = now
        tw.store(o[t.part, t.local_m, :], acc / total[:, None])
