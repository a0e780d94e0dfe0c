"""All-reduce through the switch in two shots: each rank reads the sums of its blocks, and stores
them to all ranks at once.

    python examples/19_all_reduce_multimem_two_shot.py --world 8 --shape 100003
    torchrun --nproc-per-node 8 examples/19_all_reduce_multimem_two_shot.py

An element crosses each rank's link once in each direction, whatever the world size: for large
arrays.
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
        if tw.target.multimem:  # known when it is compiled
            tw.store(y.multicast()[block], tw.all_reduce_load(x.multicast()[block]))
        else:
            total = tw.all_reduce_load(x[block])
            for r in tw.ranks():
                tw.store(y.at(r)[block], total)
    tw.barrier()  # y is complete, and x may be refilled


def main(comm, N):
    x, y = window(comm, random(comm.rank, N)), window(comm, np.full(N, np.nan, np.float32))
    all_reduce[tw.auto](x, y)
    expected = sum(random(r, N).astype(np.float64) for r in range(comm.size))
    error = check(to_host(comm, y), expected, tolerance=1e-5)
    how = "by multimem" if comm.target.multimem else "by loads and stores"
    return f"sum of {N} f32 {how} is right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements", multimem=True)
