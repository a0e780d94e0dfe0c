"""All-gather: every rank collects the shards of all ranks.

python examples/06_all_gather.py --world 8 --shape 30001
torchrun --nproc-per-node 2 examples/06_all_gather.py
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_host, window


@tw.kernel
def all_gather(
    shard: tw.Window["N"], full: tw.Tensor["W", "N"], *, N: tw.const, B: tw.const = 1024
):
    tw.barrier()  # every rank's shard is complete
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        for r in tw.ranks():
            tw.store(full[r, block], tw.load(shard.at(r)[block]))
    tw.barrier()  # nobody refills its shard while a peer still reads it


def main(comm, N):
    shard, full = window(comm, random(comm.rank, N)), poisoned(comm, (comm.size, N))
    all_gather[tw.auto](shard, full)
    check(to_host(comm, full), np.stack([random(r, N) for r in range(comm.size)]))
    return f"shards of {N} f32 gathered"


if __name__ == "__main__":
    run(main, "30001", "N: elements of each shard")
