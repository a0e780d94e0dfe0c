"""Reduce-scatter: every rank gets the sum of its part.

    python examples/07_reduce_scatter.py --world 8 --shape 100003
    torchrun --nproc-per-node 2 examples/07_reduce_scatter.py

Parts are those of torch.chunk: the last ones are shorter, or empty, where the world size doesn't
divide the array.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, share_of, to_host, window


@tw.kernel
def reduce_scatter(x: tw.Window["N"], y: tw.Tensor["P"], *, N: tw.const, B: tw.const = 1024):
    part = tw.cdiv(N, tw.world_size())
    begin = tw.rank() * part
    tw.barrier()  # every rank's x is complete
    for b in tw.persistent(tw.cdiv(part, B)):
        block = tw.ds(b * B, B)
        total = tw.zeros((B,), tw.f32)
        for r in tw.ranks():
            total += tw.load(x.at(r)[begin : begin + part][block])
        tw.store(y[block], total)  # what lies behind the end of y isn't stored
    tw.barrier()  # nobody refills x while a peer still reads it


def main(comm, N):
    mine = share_of(N, comm.size, comm.rank)
    x, y = window(comm, random(comm.rank, N)), poisoned(comm, mine.stop - mine.start)
    reduce_scatter[tw.auto](x, y)
    expected = sum(random(r, N)[mine].astype(np.float64) for r in range(comm.size))
    error = check(to_host(comm, y), expected, tolerance=1e-5)
    return f"sums of {N} f32 scattered, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements of each rank's array")
