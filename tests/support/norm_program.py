"""The all-reduce and RMS norm of the first example, as the GPU tests and benchmarks use it."""

import tilewire as tw


@tw.kernel
def allreduce_rmsnorm(
    x: tw.Window["T", "H"],
    gain: tw.Tensor["H"],
    y: tw.Tensor["T", "H"],
    eps: tw.f32,
    *,
    H: tw.const,
):
    tw.barrier()  # every rank's x is complete
    for row in tw.persistent(T):
        acc = tw.zeros((H,), tw.f32)
        for r in tw.ranks():
            acc += tw.load(x.at(r)[row, :])
        scale = tw.rsqrt(tw.sum(acc * acc) / H + eps)
        tw.store(y[row, :], acc * scale * tw.load(gain[:]))
    tw.barrier()  # nobody refills x while a peer still reads it
