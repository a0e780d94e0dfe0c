"""Attention in one kernel: two products in a loop, and what is between them stays in registers.

    python examples/29_attention.py --world 2 --shape 3,70,200
    torchrun --nproc-per-node 1 examples/29_attention.py --shape 32,4096,4096

Each rank has heads of its own. A program instance takes a block of queries and goes over keys and
values: their scores, as a product; weights, by a maximum and a sum that grow along; and the
weighted sum of values, as a product whose left operand is what was just computed. On Hopper keys
and values come by TMA while others are multiplied.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_device, to_host

D = 64  # elements of a head


@tw.kernel
def attention(
    q: tw.Tensor["H", "M", D],
    k: tw.constant(tw.Tensor["H", "N", D]),
    v: tw.constant(tw.Tensor["H", "N", D]),
    o: tw.Tensor["H", "M", D],
    *,
    BM: tw.const,
    BN: tw.const,
):
    for t in tw.persistent(tw.tiles(H * M, 1, BM, 1, split=H)):
        query = tw.load(q[t.part, t.local_m, :])
        most, total = tw.full((BM,), -1e30, tw.f32), tw.zeros((BM,), tw.f32)
        acc = tw.zeros((BM, D), tw.f32)
        for start in range(0, N, BN):
            some = tw.ds(start, BN)
            score = tw.matmul(query, k[t.part, some, :].T) / D**0.5
            if start + BN > N:  # the last keys
                score = tw.where((tw.arange(0, BN) + start < N)[None, :], score, -1e30)
            now = tw.maximum(most, tw.max(score, axis=1))
            weight, shrink = tw.exp(score - now[:, None]), tw.exp(most - now)
            total = total * shrink + tw.sum(weight, axis=1)
            acc *= shrink[:, None]
            acc = tw.matmul(tw.cast(weight, q.dtype), v[t.part, some, :], acc=acc)
            most = now
        tw.store(o[t.part, t.local_m, :], acc / total[:, None])


BF16 = ml_dtypes.bfloat16


def main(comm, H, M, N):
    BM, BN = (128, 128) if comm.target.is_cuda else (16, 32)
    q, k, v = (random((comm.rank, i), (H, rows, D), BF16) for i, rows in enumerate((M, N, N)))
    o = poisoned(comm, (H, M, D), BF16)
    attention[tw.auto](*(to_device(comm, each) for each in (q, k, v)), o, BM=BM, BN=BN)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / D**0.5
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = weights / weights.sum(axis=2, keepdims=True) @ v.astype(np.float64)
    error = check(to_host(comm, o), expected, tolerance=2**-6)
    return f"{H} heads of [{M}, {D}] bf16 over {N} keys, {error:.1e} off"


if __name__ == "__main__":
    run(main, "3,70,200", "H,M,N: heads of each rank, queries, keys")
