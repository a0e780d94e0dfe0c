"""All-reduce in two shots: reduce-scatter, then all-gather, in one kernel.

    python examples/03_all_reduce_two_shot.py --world 8 --shape 100003
    torchrun --nproc-per-node 2 examples/03_all_reduce_two_shot.py

Every block has one rank that adds it up, and hands the sum to all: an element crosses the links
about twice, whatever the world size. So this is the one for large arrays.
"""

import numpy as np
import tilewire as tw
from common import check, random, run, to_host, window


@tw.kernel
def all_reduce(x: tw.Window["N"], y: tw.Window["N"], *, B: tw.const = 1024):
    blocks_per_rank = tw.cdiv(tw.cdiv(N, B), tw.world_size())
    tw.barrier()  # every rank's x is complete, and nobody needs the old y
    for b in tw.persistent(blocks_per_rank):
        block = tw.ds((b * tw.world_size() + tw.rank()) * B, B)
        total = tw.zeros((B,), tw.f32)
        for r in tw.ranks():
            total += tw.load(x.at(r)[block])
        for r in tw.ranks():
            tw.store(y.at(r)[block], total)
    tw.barrier()  # y is complete, and x may be refilled


def main(comm, N):
    x, y = window(comm, random(comm.rank, N)), window(comm, np.full(N, np.nan, np.float32))
    all_reduce[tw.auto](x, y)
    expected = sum(random(r, N).astype(np.float64) for r in range(comm.size))
    error = check(to_host(comm, y), expected, tolerance=1e-5)
    return f"sum of {N} f32 is right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements")
