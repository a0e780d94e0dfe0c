"""All-reduce around a ring: rank r sends to r + 1 only, through a FIFO of two messages.

    python examples/05_all_reduce_ring.py --world 8 --shape 100003
    torchrun --nproc-per-node 2 examples/05_all_reduce_ring.py --shape 16777216

The array goes through a few hundred KiB of slots, whatever its size: a send waits while two
messages are unread. Every element crosses each link about twice.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_device, to_host


@tw.kernel
def all_reduce(x: tw.Tensor["N"], y: tw.Tensor["N"], ch: tw.Channel["S"], *, B: tw.const):
    size, slot = tw.world_size(), tw.program_id(0)
    to_next = ch.at((tw.rank() + 1) % size)[slot]
    for group in tw.persistent(tw.cdiv(N, size * B)):  # of a block per rank
        total = tw.zeros((B,), tw.f32)
        for step in range(size):  # the block that rank r begins with is complete at r - 1
            block = tw.ds((group * size + (tw.rank() - step) % size) * B, B)
            if step > 0:
                total = tw.recv(ch[slot])
            total += tw.load(x[block])
            if step < size - 1:
                tw.send(to_next, total)
        for step in range(size):
            block = tw.ds((group * size + (tw.rank() + 1 - step) % size) * B, B)
            if step > 0:
                total = tw.recv(ch[slot])
            tw.store(y[block], total)
            if step < size - 1:
                tw.send(to_next, total)


B = 2048
SLOTS = 16


def main(comm, N):
    ch = comm.channel(SLOTS, tile=(B,), dtype=tw.f32, depth=2)
    x, y = to_device(comm, random(comm.rank, N)), poisoned(comm, N)
    all_reduce[tw.auto](x, y, ch, B=B)
    expected = sum(random(r, N).astype(np.float64) for r in range(comm.size))
    error = check(to_host(comm, y), expected, tolerance=1e-5)
    return f"sum of {N} f32 is right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements")
