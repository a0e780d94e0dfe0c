"""Hierarchical all-reduce: what crosses the network is summed in the LSA team before.

    python examples/21_hierarchical_all_reduce.py --world 2x4 --shape 100003
    torchrun --nproc-per-node 2 examples/21_hierarchical_all_reduce.py

Of an array of N elements, each rank sends N / (ranks of its team) to each other team. Every element
is added up by one rank of each team, in one order, so that all ranks have the same bits.
"""

import numpy as np
import tilewire as tw
from common import check, fill, random, run, to_host, window


@tw.kernel
def all_reduce(
    x: tw.Window["N"],
    part: tw.Window["L", "C"],
    y: tw.Window["N"],
    *,
    N: tw.const,
    C: tw.const,
    B: tw.const = 1024,
):
    begin = tw.rank(tw.lsa) * C  # of the part that is this rank's in its team
    tw.barrier(team=tw.lsa)  # the team's x are complete
    for b in tw.persistent(tw.cdiv(C, B)):
        block = tw.ds(b * B, B)
        total = tw.zeros((B,), tw.f32)
        for r in tw.ranks(team=tw.lsa):
            total += tw.load(x.at(r, team=tw.lsa)[begin : begin + C][block])
        for r in tw.ranks(team=tw.rail):
            tw.put(part.at(r, team=tw.rail)[tw.rank(tw.rail), block], total)
    tw.barrier(team=tw.rail)  # the sums of all teams are here
    for b in tw.persistent(tw.cdiv(C, B)):
        block = tw.ds(b * B, B)
        total = tw.zeros((B,), tw.f32)
        for r in tw.ranks(team=tw.rail):
            total += tw.load(part[r, block])
        for r in tw.ranks(team=tw.lsa):
            tw.store(y.at(r, team=tw.lsa)[begin : begin + C][block], total)
    tw.barrier()  # y is complete; x and part may be refilled


def main(comm, N):
    C = -(-N // comm.lsa_size)
    x, y = comm.window(N, tw.f32), window(comm, np.full(N, np.nan, np.float32))
    part = window(comm, np.full((comm.size // comm.lsa_size, C), np.nan, np.float32))
    comm.barrier()  # no rank puts into what is still being filled
    for step in range(2):
        seeds = [comm.size * step + r for r in range(comm.size)]
        fill(comm, x, random(seeds[comm.rank], N))
        all_reduce[tw.auto](x, part, y)
        expected = sum(random(seed, N).astype(np.float64) for seed in seeds)
        error = check(to_host(comm, y), expected, tolerance=1e-5)
    comm.barrier()
    return f"sum of {N} f32 is right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements")
