"""Hierarchical reduce-scatter: each team sums before anything crosses the network.

    python examples/23_hierarchical_reduce_scatter.py --world 2x4 --shape 100003
    torchrun --nproc-per-node 2 examples/23_hierarchical_reduce_scatter.py

Parts are those of torch.chunk. The sums of a team for a part go to the part's owner by the rank of
the team that has the owner's index, into a slot for each team; the owner adds the slots up.
"""

import numpy as np
import tilewire as tw
from common import check, fill, poisoned, random, run, share_of, to_host, window


@tw.kernel
def reduce_scatter(
    x: tw.Window["N"],
    slots: tw.Window["L", "P"],
    y: tw.Tensor["R"],
    *,
    N: tw.const,
    P: tw.const,
    B: tw.const = 1024,
):
    tw.barrier(team=tw.lsa)  # the team's x are complete
    for b in tw.persistent(tw.cdiv(P, B)):
        block = tw.ds(b * B, B)
        for team in tw.ranks(team=tw.rail):
            begin = (team * tw.world_size(tw.lsa) + tw.rank(tw.lsa)) * P  # of the owner's part
            total = tw.zeros((B,), tw.f32)
            for r in tw.ranks(team=tw.lsa):
                total += tw.load(x.at(r, team=tw.lsa)[begin : begin + P][block])
            tw.put(slots.at(team, team=tw.rail)[tw.rank(tw.rail), block], total)
    tw.barrier(team=tw.rail)  # the sums of all teams are here
    for b in tw.persistent(tw.cdiv(P, B)):
        block = tw.ds(b * B, B)
        total = tw.zeros((B,), tw.f32)
        for team in tw.ranks(team=tw.rail):
            total += tw.load(slots[team, block])
        tw.store(y[block], total)  # what lies behind the end of y isn't stored
    tw.barrier()  # x and the slots may be refilled


def main(comm, N):
    mine, P = share_of(N, comm.size, comm.rank), -(-N // comm.size)
    x, y = comm.window(N, tw.f32), poisoned(comm, mine.stop - mine.start)
    slots = window(comm, np.full((comm.size // comm.lsa_size, P), np.nan, np.float32))
    comm.barrier()  # no rank puts into what is still being filled
    for step in range(2):
        seeds = [comm.size * step + r for r in range(comm.size)]
        fill(comm, x, random(seeds[comm.rank], N))
        reduce_scatter[tw.auto](x, slots, y)
        expected = sum(random(seed, N)[mine].astype(np.float64) for seed in seeds)
        error = check(to_host(comm, y), expected, tolerance=1e-5)
    comm.barrier()
    return f"sums of {N} f32 scattered, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements of each rank's array")
