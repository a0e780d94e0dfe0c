"""All-reduce over channels: each rank sends its blocks to all others and adds what comes.

    python examples/04_all_reduce_channels.py --world 8 --shape 100003
    torchrun --nproc-per-node 2 examples/04_all_reduce_channels.py

No barrier: a block's arrival is seen in the block itself, which is the lowest latency there is. `x`
and `y` are ordinary memory. Every rank adds in rank order in f32, so that all have the same bits.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_device, to_host

B = 1024  # elements of a block
SLOTS = 64  # instances at most: each has a slot of its own


@tw.kernel
def all_reduce(x: tw.Tensor["N"], y: tw.Tensor["N"], ch: tw.Channel, *, B: tw.const):
    i = tw.program_id(0)
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        parts = tw.exchange(ch[:, i], tw.load(x[block]))  # to all, from all: [world, B]
        tw.store(y[block], tw.sum(parts, axis=0))  # in rank order


def main(comm, N):
    x, y = to_device(comm, random(comm.rank, N)), poisoned(comm, N)
    # -0.0 may arrive as 0.0: then messages need no tags beside their words.
    ch = comm.channel((comm.size, SLOTS), tile=(B,), dtype=tw.f32, exchange=True, signed_zero=False)
    for _ in range(2):
        all_reduce[min(SLOTS, -(-N // B))](x, y, ch, B=B)
    expected = sum(random(r, N).astype(np.float64) for r in range(comm.size))
    error = check(to_host(comm, y), expected, tolerance=1e-5)
    return f"sum of {N} f32 is right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements")
