"""A product of few results and a long K, in one kernel: parts of K are computed side by side.

    python examples/28_split_k.py --world 2 --shape 40,72,1000
    torchrun --nproc-per-node 1 examples/28_split_k.py --shape 64,512,8192

Each tile of A · Bᵀ is computed in S parts of K, by different program instances, so that few tiles
keep a whole GPU busy. The instance whose part comes last adds all of them, in the order of K: the
same bits in every run. Nobody waits, and nothing has to be cleared before a launch.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_device, to_host


@tw.kernel
def split_k_product(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    bias: tw.Tensor["N"],
    parts: tw.Tensor["TILES", "S", "BM", "BN"],
    c: tw.Tensor["M", "N"],
    *,
    S: tw.const,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 128,
    STAGES: tw.const = 6,
):
    for t in tw.persistent(tw.tiles(M, N, BM, BN, k=K, block_k=BK, split_k=S)):
        part = tw.matmul(a[t.m, t.k], b[t.n, t.k].T, block_k=BK, stages=STAGES)
        tw.store(parts[t.local_index, t.k_part, :, :], part)
        if tw.arrive(t):  # the last of the tile's parts
            total = tw.load(parts[t.local_index, 0, :, :])
            for s in tw.unroll(1, S):  # in the order of K, in f32
                total += tw.load(parts[t.local_index, s, :, :])
            tw.store(c[t.m, t.n], tw.maximum(total + tw.load(bias[t.n])[None, :], 0))


BF16 = ml_dtypes.bfloat16


def main(comm, M, N, K):
    BM, BN = (64, 64) if comm.target.is_cuda else (16, 32)
    tiles = -(-M // BM) * -(-N // BN)
    S = max(min(132 // tiles, 16), 1)  # as many as fill an H100
    parts = poisoned(comm, (tiles, S, BM, BN))
    runs = []
    for _ in range(2):
        a = (random(comm.rank, (M, K)) / np.sqrt(K)).astype(BF16)
        b, bias = random(1, (N, K), BF16), random(2, (N,), BF16)
        c = poisoned(comm, (M, N), BF16)
        operands = [to_device(comm, each) for each in (a, b, bias)]
        split_k_product[tw.auto](*operands, parts, c)
        runs.append(to_host(comm, c))
    expected = a.astype(np.float64) @ b.astype(np.float64).T + bias.astype(np.float64)
    error = check(runs[0], np.maximum(expected, 0), tolerance=2**-7)
    if (runs[0] != runs[1]).any():
        raise ValueError("two runs differ")
    return f"[{M}, {K}] · [{K}, {N}] bf16 in {S} parts of K, {error:.1e} off"


if __name__ == "__main__":
    run(main, "40,72,1000", "M,N,K: rows, columns, and what is summed over")
