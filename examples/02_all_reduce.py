"""All-reduce with barriers: every rank reads all of every rank's memory.

    python examples/02_all_reduce.py --world 8 --shape 100003
    torchrun --nproc-per-node 2 examples/02_all_reduce.py

Each element is read world size - 1 times over the links: for small arrays. Every rank adds in rank
order in f32, so that all have the same bits.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_host, window


@tw.kernel
def all_reduce(x: tw.Window["N"], y: tw.Tensor["N"], *, B: tw.const = 1024):
    tw.barrier()  # every rank's x is complete
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(
            b * B, B
        )  # the last one may reach past the end: that reads 0, and isn't stored
        total = tw.zeros((B,), tw.f32)
        for r in tw.ranks():
            total += tw.load(x.at(r)[block])
        tw.store(y[block], total)
    tw.barrier()  # nobody refills x while a peer still reads it


def main(comm, N):
    x, y = window(comm, random(comm.rank, N)), poisoned(comm, N)
    all_reduce[tw.auto](x, y)
    expected = sum(random(r, N).astype(np.float64) for r in range(comm.size))
    error = check(to_host(comm, y), expected, tolerance=1e-5)
    return f"sum of {N} f32 is right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements")
