"""All-gather and GEMM in one kernel, where tasks carry: 15 without pushers.

python examples/27_all_gather_task.py --world 8 --shape 150,70,300
torchrun --nproc-per-node 2 examples/27_all_gather_task.py --shape 8192,4096,8192

Each rank has its share of A's rows and a B of its own, and gets all of A · Bᵀ. Beside its products,
each program instance has a task: a warp that pushes the instance's blocks of the shard to the
peers. Nothing orders a task with the rest of its instance but flags, so it waits for one that the
rest sets behind a barrier.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, share_of, to_device, to_host


@tw.kernel
def all_gather_gemm(
    a: tw.constant(tw.Tensor["R", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    full: tw.Window["W", "RMAX", "K"],
    ready: tw.Flag["W", "BLOCKS"],
    begin: tw.Flag["G"],
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
):
    size, rank = tw.world_size(), tw.rank()
    with tw.task():
        tw.wait(begin[tw.program_id(0)])
        for i in range(1, size):
            p = (rank - i) % size  # it comes to our rows after those of i - 1 others
            for block in tw.persistent(tw.cdiv(R, BM)):
                rows = tw.ds(block * BM, BM)
                tw.put(full.at(p)[rank, rows, :], a[rows, :])
                tw.set(ready.at(p)[rank, block])
    tw.barrier()  # every rank has ended its last launch: `full` may be overwritten
    tw.set(begin[tw.program_id(0)])
    for t in tw.persistent(tw.tiles(M, N, BM, BN, split=size, start=rank)):
        if t.part == rank:
            product = tw.matmul(a[t.local_m, :], b[t.n, :].T, block_k=64)
        else:
            tw.wait(ready[t.part, t.local_m.start // BM])
            product = tw.matmul(full[t.part, t.local_m, :], b[t.n, :].T, block_k=64)
        tw.store(c[t.m, t.n], product)


BF16 = ml_dtypes.bfloat16


def main(comm, M, N, K):
    size, rank = comm.size, comm.rank
    BM, BN = (128, 128) if comm.target.is_cuda else (32, 32)
    chunk = -(-M // size)
    full = comm.window((size, chunk, K), tw.bf16)
    ready, begin = comm.flag((size, -(-chunk // BM))), comm.flag((256,))
    rows = share_of(M, size, rank)
    for step in range(3):
        a = (random(step, (M, K)) / np.sqrt(K)).astype(BF16)
        b = random(10 + rank, (N, K), BF16)
        c = poisoned(comm, (M, N), BF16)
        shard, weights = to_device(comm, a[rows]), to_device(comm, b)
        all_gather_gemm[tw.auto](shard, weights, full, ready, begin, c, BM=BM, BN=BN)
        expected = a.astype(np.float64) @ b.astype(np.float64).T
        error = check(to_host(comm, c), expected, tolerance=2**-8)
    return f"[{M}, {K}] · [{K}, {N}] bf16 gathered by tasks and multiplied, {error:.1e} off"


if __name__ == "__main__":
    run(main, "150,70,300", "M,N,K: rows of all ranks, columns of each, and what is summed over")
