"""A pipeline: rank r applies layer r to one micro-batch after the other and hands it to rank r + 1.

    python examples/12_pipeline.py --world 8 --shape 50,96
    torchrun --nproc-per-node 2 examples/12_pipeline.py

Each stage has two buffers: while it works on one, the stage before fills the other, and waits where
both are full. Nobody else meets: the kernel is one-sided, and any rank may launch it at any time.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_device, to_host


@tw.kernel
def stage(
    x: tw.Tensor["M", "H"],
    gain: tw.constant(tw.Tensor["H"]),
    inbox: tw.Window[2, "H"],
    full: tw.Semaphore[2],
    free: tw.Semaphore[2],
    y: tw.Tensor["M", "H"],
    *,
    H: tw.const,
):
    rank, last = tw.rank(), tw.world_size() - 1
    for batch in range(M):
        half = batch % 2
        tile = tw.load(x[batch, :])
        if rank > 0:
            tw.wait(full[half])
            tile = tw.load(inbox[half, :])
            tw.signal(free.at(rank - 1)[half])  # it may be filled again
        tile = tw.maximum(tile, -1.0) * tw.load(gain[:])
        if rank < last:
            tw.wait(free[half])  # of the next stage
            tw.put(inbox.at(rank + 1)[half, :], tile)
            tw.signal(full.at(rank + 1)[half])
        else:
            tw.store(y[batch, :], tile)


def main(comm, M, H):
    x, gain = random(0, (M, H)), random(10 + comm.rank, H)
    inbox, full = comm.window((2, H), tw.f32), comm.semaphore(2)
    free = comm.semaphore(2, init=1)
    y = poisoned(comm, (M, H))
    for _ in range(2):  # the second launch finds all buffers free
        stage[1](to_device(comm, x), to_device(comm, gain), inbox, full, free, y)
    expected = x
    for r in range(comm.size):
        expected = np.maximum(expected, np.float32(-1)) * random(10 + r, H)
    if comm.rank == comm.size - 1:
        check(to_host(comm, y), expected, tolerance=1e-5)
    comm.barrier()
    return f"{M} micro-batches of {H} f32 went through {comm.size} stages"


if __name__ == "__main__":
    run(main, "50,96", "M,H: micro-batches, and elements of each")
