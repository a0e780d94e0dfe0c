"""A product whose terms lie on the ranks, and whose sum is scattered: GEMM and reduce-scatter in
one kernel.

    python examples/14_gemm_reduce_scatter.py --world 8 --shape 150,200,520
    torchrun --nproc-per-node 2 examples/14_gemm_reduce_scatter.py --shape 8192,8192,8192

K is split over the ranks: each has columns of A and of B, and gets its share of the rows of A · Bᵀ.
A tile of a peer's rows goes to the peer as soon as it is computed, into a slot per source; a rank's
own rows come last, when most of what the peers have sent is there. Slots rotate: the next launch
writes where nobody reads any more.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, share_of, to_device, to_host


@tw.kernel
def gemm_reduce_scatter(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    part: tw.Window["W", "RMAX", "N"],
    ready: tw.Flag["W", "TILES"],
    c: tw.Tensor["R", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
):
    # No tile crosses two owners. The peers' rows come first.
    for t in tw.persistent(tw.tiles(M, N, BM, BN, split=tw.world_size(), start=tw.rank() + 1)):
        total = tw.matmul(a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES)
        if t.part != tw.rank():
            tw.store(part.at(t.part)[tw.rank(), t.local_m, t.n], total)
            tw.set(ready.at(t.part)[tw.rank(), t.local_index])
        else:
            for r in tw.peers():  # in rank order, in f32
                tw.wait(ready[r, t.local_index])
                total += tw.load(part[r, t.local_m, t.n])
            tw.store(c[t.local_m, t.n], total)


BF16 = ml_dtypes.bfloat16


def main(comm, M, N, K):
    size, rank = comm.size, comm.rank
    BM, BN = (128, 128) if comm.target.is_cuda else (32, 32)
    chunk = -(-M // size)
    part = comm.window((size, chunk, N), tw.bf16, rotate=2)
    ready = comm.flag((size, -(-chunk // BM) * -(-N // BN)))
    rows, columns = share_of(M, size, rank), share_of(K, size, rank)
    for step in range(2):
        a = (random(2 * step, (M, K)) / np.sqrt(K)).astype(BF16)
        b = random(2 * step + 1, (N, K), BF16)
        a_part, b_part = to_device(comm, a[:, columns]), to_device(comm, b[:, columns])
        c = poisoned(comm, (rows.stop - rows.start, N), BF16)
        gemm_reduce_scatter[tw.auto](a_part, b_part, part, ready, c, BM=BM, BN=BN)
        expected = a[rows].astype(np.float64) @ b.astype(np.float64).T
        error = check(to_host(comm, c), expected, tolerance=2**-6)
    return f"[{M}, {K}] · [{K}, {N}] bf16 summed and scattered, {error:.1e} off"


if __name__ == "__main__":
    run(main, "150,200,520", "M,N,K: rows, columns, and what is summed over")
