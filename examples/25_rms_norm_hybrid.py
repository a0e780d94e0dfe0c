"""RMS norm between a reduce-scatter and an all-gather, over teams that the network connects.

    python examples/25_rms_norm_hybrid.py --world 2x4 --shape 61,256
    torchrun --nproc-per-node 2 examples/25_rms_norm_hybrid.py

As 10_rms_norm_sharded.py, on any topology: sums of a team go to a row's owner by the rank of the
team that has its index, and norms come back the same way.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, random, run, to_device, to_host, window


@tw.kernel
def rms_norm(
    x: tw.Window["T", "H"],
    sums: tw.Window["L", "P", "H"],
    gain: tw.constant(tw.Tensor["H"]),
    y: tw.Window["T", "H"],
    eps: tw.f32,
    *,
    H: tw.const,
    P: tw.const,
):
    size = tw.world_size(tw.lsa)
    tw.barrier()  # every rank's x is complete, and nobody needs the old y
    for i in tw.persistent(P):  # the i-th row of each owner
        for team in tw.ranks(team=tw.rail):
            row = (team * size + tw.rank(tw.lsa)) * P + i
            total = tw.zeros((H,), tw.f32)
            for r in tw.ranks(team=tw.lsa):
                total += tw.load(x.at(r, team=tw.lsa)[row, :])
            tw.put(sums.at(team, team=tw.rail)[tw.rank(tw.rail), i, :], total)
    tw.barrier(team=tw.rail)  # the sums of all teams are here
    for i in tw.persistent(P):
        total = tw.zeros((H,), tw.f32)
        for team in tw.ranks(team=tw.rail):
            total += tw.load(sums[team, i, :])
        normed = total * tw.rsqrt(tw.sum(total * total) / H + eps) * tw.load(gain[:])
        for r in tw.ranks():
            tw.put(y.at(r)[tw.rank() * P + i, :], normed)
    tw.barrier()  # y is complete, and x may be refilled


EPS = 1e-6
BF16 = ml_dtypes.bfloat16


def main(comm, T, H):
    P = -(-T // comm.size)
    gain = random(101, H, BF16)
    x = window(comm, random(comm.rank, (T, H), BF16))
    y = window(comm, np.full((T, H), np.nan, BF16))
    sums = window(comm, np.full((comm.size // comm.lsa_size, P, H), np.nan, np.float32))
    rms_norm[tw.auto](x, sums, to_device(comm, gain), y, EPS)

    total = sum(random(r, (T, H), BF16).astype(np.float64) for r in range(comm.size))
    scale = 1 / np.sqrt(np.mean(total * total, axis=1, keepdims=True) + EPS)
    error = check(to_host(comm, y), total * scale * gain.astype(np.float64), tolerance=2**-8)
    comm.barrier()
    return f"norms of [{T}, {H}] bf16 are right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "61,256", "T,H: rows and their length")
