"""RMS norm between a reduce-scatter and an all-gather: one kernel for the tail of a layer whose
weights are split over the ranks.

    python examples/10_rms_norm_sharded.py --world 8 --shape 61,1024
    torchrun --nproc-per-node 2 examples/10_rms_norm_sharded.py

x holds every rank's partial sums. A rank adds up its share of the rows, adds them to its share of
the residual, which stays where it is, and gives the norm of the result to all ranks.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, random, run, share_of, to_device, to_host, window


@tw.kernel
def rms_norm(
    x: tw.Window["T", "H"],
    residual: tw.Tensor["R", "H"],
    gain: tw.constant(tw.Tensor["H"]),
    y: tw.Window["T", "H"],
    eps: tw.f32,
    *,
    H: tw.const,
):
    part = tw.cdiv(T, tw.world_size())
    begin = tw.rank() * part
    tw.barrier()  # every rank's x is complete, and nobody needs the old y
    for row in tw.persistent(part):
        if begin + row < T:
            total = tw.load(residual[row, :]).to(tw.f32)
            for r in tw.ranks():
                total += tw.load(x.at(r)[begin + row, :])
            tw.store(residual[row, :], total)
            normed = total * tw.rsqrt(tw.sum(total * total) / H + eps) * tw.load(gain[:])
            for r in tw.ranks():
                tw.store(y.at(r)[begin + row, :], normed)
    tw.barrier()  # y is complete, and x may be refilled


EPS = 1e-6
BF16 = ml_dtypes.bfloat16


def main(comm, T, H):
    mine = share_of(T, comm.size, comm.rank)
    residuals, gain = random(100, (T, H), BF16), random(101, H, BF16)
    x = window(comm, random(comm.rank, (T, H), BF16))
    y = window(comm, np.full((T, H), np.nan, BF16))
    residual = to_device(comm, residuals[mine])
    rms_norm[tw.auto](x, residual, to_device(comm, gain), y, EPS)

    total = residuals.astype(np.float64)
    total += sum(random(r, (T, H), BF16).astype(np.float64) for r in range(comm.size))
    scale = 1 / np.sqrt(np.mean(total * total, axis=1, keepdims=True) + EPS)
    check(to_host(comm, residual), total[mine], tolerance=2**-8)
    error = check(to_host(comm, y), total * scale * gain.astype(np.float64), tolerance=2**-8)
    return f"norms of [{T}, {H}] bf16 are right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "61,1024", "T,H: rows and their length")
