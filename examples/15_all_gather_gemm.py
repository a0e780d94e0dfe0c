"""A product of rows that lie on the ranks: all-gather and GEMM in one kernel.

    python examples/15_all_gather_gemm.py --world 8 --shape 150,70,300
    torchrun --nproc-per-node 2 examples/15_all_gather_gemm.py --shape 8192,4096,8192

Each rank has its share of A's rows and a B of its own, and gets all of A · Bᵀ. A few program
instances first push the shard to the peers; the others begin with the rank's own rows, and go on
with those of the next rank when they are there. Tiles are handed out one by one, so that the
pushers get fewer.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, share_of, to_device, to_host


@tw.function
def push(shard, full, ready, first, BM, BK):
    """The shard's rows, which are `first` and the following ones, to all peers in blocks of BM."""
    size, rank, num_rows = tw.world_size(), tw.rank(), shard.shape[0]
    for i in tw.unroll(1, size):
        p = (rank - i) % size  # it comes to our rows after those of i - 1 others
        for block in tw.persistent(tw.cdiv(num_rows, BM)):
            rows = tw.ds(block * BM, BM)
            for k in range(0, shard.shape[1], BK):
                tile = tw.load(shard[rows, tw.ds(k, BK)])
                tw.store(full.at(p)[first : first + num_rows][rows, tw.ds(k, BK)], tile)
            tw.set(ready.at(p)[rank, block])


@tw.kernel
def all_gather_gemm(
    a: tw.constant(tw.Tensor["R", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    full: tw.Window["M", "K"],
    ready: tw.Flag["W", "BLOCKS"],
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
    PUSH: tw.const = 16,
):
    size, rank = tw.world_size(), tw.rank()
    with tw.instances(0, PUSH):
        tw.barrier()  # every rank has ended its last launch: `full` may be overwritten
        push(a, full, ready, rank * tw.cdiv(M, size), BM, BK)
    tiles = tw.tiles(M, N, BM, BN, split=size, start=rank)
    for t in tw.persistent(tiles, schedule="dynamic"):
        if t.part == rank:
            product = tw.matmul(a[t.local_m, :], b[t.n, :].T, block_k=BK, stages=STAGES)
        else:
            tw.wait(ready[t.part, t.local_m.start // BM])
            product = tw.matmul(full[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES)
        tw.store(c[t.m, t.n], product)


BF16 = ml_dtypes.bfloat16


def main(comm, M, N, K):
    size, rank = comm.size, comm.rank
    BM, BN = (128, 128) if comm.target.is_cuda else (32, 32)
    full, chunk = comm.window((M, K), tw.bf16), -(-M // size)
    ready = comm.flag((size, -(-chunk // BM)))
    rows = share_of(M, size, rank)
    for step in range(2):
        a = (random(step, (M, K)) / np.sqrt(K)).astype(BF16)
        b = random(10 + rank, (N, K), BF16)
        c = poisoned(comm, (M, N), BF16)
        shard, weights = to_device(comm, a[rows]), to_device(comm, b)
        all_gather_gemm[tw.auto](shard, weights, full, ready, c, BM=BM, BN=BN)
        expected = a.astype(np.float64) @ b.astype(np.float64).T
        error = check(to_host(comm, c), expected, tolerance=2**-8)
    return f"[{M}, {K}] · [{K}, {N}] bf16 gathered and multiplied, {error:.1e} off"


if __name__ == "__main__":
    run(main, "150,70,300", "M,N,K: rows of all ranks, columns of each, and what is summed over")
