"""Hierarchical all-gather: a shard crosses the network once for each other team.

    python examples/22_hierarchical_all_gather.py --world 2x4 --shape 30001
    torchrun --nproc-per-node 2 examples/22_hierarchical_all_gather.py

A rank puts its shard to the ranks of its rail, which are those with its index in the other teams;
each hands what came on to its own team.
"""

import numpy as np
import tilewire as tw
from common import check, random, run, to_device, to_host, window


@tw.kernel
def all_gather(
    shard: tw.Tensor["N"], full: tw.Window["W", "N"], *, N: tw.const, B: tw.const = 1024
):
    tw.barrier()  # nobody needs the old values
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        tile = tw.load(shard[block])
        for r in tw.ranks(team=tw.rail):
            tw.put(full.at(r, team=tw.rail)[tw.rank(), block], tile)
    tw.barrier(team=tw.rail)  # the rail's shards are here
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        for r in tw.ranks(team=tw.rail):
            row = r * tw.world_size(tw.lsa) + tw.rank(tw.lsa)
            tile = tw.load(full[row, block])
            for mate in tw.peers(team=tw.lsa):
                tw.store(full.at(mate, team=tw.lsa)[row, block], tile)
    tw.barrier(team=tw.lsa)  # all shards are here


def main(comm, N):
    shard = to_device(comm, random(comm.rank, N))
    full = window(comm, np.full((comm.size, N), np.nan, np.float32))
    all_gather[tw.auto](shard, full)
    check(to_host(comm, full), np.stack([random(r, N) for r in range(comm.size)]))
    comm.barrier()
    return f"shards of {N} f32 gathered"


if __name__ == "__main__":
    run(main, "30001", "N: elements of each shard")
