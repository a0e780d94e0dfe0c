"""RMS norm between a reduce-scatter and an all-gather, both through the switch: 10 with multimem.

    python examples/26_rms_norm_multimem.py --world 8 --shape 61,1024
    torchrun --nproc-per-node 8 examples/26_rms_norm_multimem.py

A rank reads the sums of its share of the rows, adds them to its share of the residual, and stores
the norm of the result to all ranks at once.
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
            total += tw.all_reduce_load(x[begin + row, :], order="any")
            tw.store(residual[row, :], total)
            normed = total * tw.rsqrt(tw.sum(total * total) / H + eps) * tw.load(gain[:])
            if tw.target.multimem:
                tw.store(y.multicast()[begin + row, :], normed)
            else:
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
    # The switch rounds sums to bf16, before the residual comes in.
    tolerance = 2**-5 if comm.target.multimem else 2**-8
    check(to_host(comm, residual), total[mine], tolerance)
    error = check(to_host(comm, y), total * scale * gain.astype(np.float64), tolerance)
    how = "by multimem" if comm.target.multimem else "by loads and stores"
    return f"norms of [{T}, {H}] bf16 {how} are right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "61,1024", "T,H: rows and their length", multimem=True)
