"""A product whose terms lie on the ranks, and whose sum all of them get: GEMM and all-reduce in one
kernel.

    python examples/16_gemm_all_reduce.py --world 8 --shape 150,100,520
    torchrun --nproc-per-node 2 examples/16_gemm_all_reduce.py --shape 8192,8192,8192

K is split over the ranks. For many rows, each tile has an owner, who adds up what all have computed
of it and stores the sum at all of them: all ranks get the same bits. For a few rows, where it is
latency that counts, all send all their tiles to all: a tile's arrival is seen in the tile itself.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, share_of, to_device, to_host


@tw.kernel
def gemm_all_reduce(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    part: tw.Window["W", "RMAX", "N"],
    ready: tw.Flag["W", "TILES"],
    c: tw.Window["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
):
    for t in tw.persistent(tw.tiles(M, N, BM, BN, split=tw.world_size(), start=tw.rank() + 1)):
        total = tw.matmul(a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES)
        if t.part != tw.rank():
            tw.store(part.at(t.part)[tw.rank(), t.local_m, t.n], total)
            tw.set(ready.at(t.part)[tw.rank(), t.local_index])
        else:
            for r in tw.peers():  # in rank order, in f32
                tw.wait(ready[r, t.local_index])
                total += tw.load(part[r, t.local_m, t.n])
            for r in tw.ranks():
                tw.store(c.at(r)[t.m, t.n], total)
    tw.barrier()  # c is complete, and `part` may be written again


@tw.kernel
def gemm_exchange(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    ch: tw.Channel["W", "SLOTS"],
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
):
    i = tw.program_id(0)
    for t in tw.persistent(tw.tiles(M, N, BM, BN)):
        term = tw.matmul(a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES)
        parts = tw.exchange(ch[:, i], term)  # to all, from all: [world, BM, BN]
        tw.store(c[t.m, t.n], tw.sum(parts, axis=0))  # in rank order


BF16 = ml_dtypes.bfloat16
SLOTS = 128  # instances at most: each has a slot of its own


def main(comm, M, N, K):
    size, rank = comm.size, comm.rank
    BM, BN = (128, 128) if comm.target.is_cuda else (32, 32)
    chunk, columns = -(-M // size), share_of(K, size, rank)
    part, c = comm.window((size, chunk, N), tw.bf16), comm.window((M, N), tw.bf16)
    ready = comm.flag((size, -(-chunk // BM) * -(-N // BN)))
    BM_FEW, BN_FEW = 16, 64
    tile = (BM_FEW, BN_FEW)
    ch = comm.channel((size, SLOTS), tile, tw.bf16, exchange=True, signed_zero=False)
    grid = min(SLOTS, max(-(-M // BM_FEW), 1) * -(-N // BN_FEW))
    for step in range(2):
        a = (random(2 * step, (M, K)) / np.sqrt(K)).astype(BF16)
        b = random(2 * step + 1, (N, K), BF16)
        a_part, b_part = to_device(comm, a[:, columns]), to_device(comm, b[:, columns])
        expected = a.astype(np.float64) @ b.astype(np.float64).T
        gemm_all_reduce[tw.auto](a_part, b_part, part, ready, c, BM=BM, BN=BN)
        error = check(to_host(comm, c), expected, tolerance=2**-6)
        few = poisoned(comm, (M, N), BF16)
        gemm_exchange[grid](a_part, b_part, ch, few, BM=BM_FEW, BN=BN_FEW)
        check(to_host(comm, few), expected, tolerance=2**-6)
    return f"[{M}, {K}] · [{K}, {N}] bf16 summed, {error:.1e} off"


if __name__ == "__main__":
    run(main, "150,100,520", "M,N,K: rows, columns, and what is summed over")
