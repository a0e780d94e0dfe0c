"""Hierarchical all-to-all: rows for one team leave as one message per rail.

    python examples/24_hierarchical_all_to_all.py --world 2x4 --shape 1007
    torchrun --nproc-per-node 2 examples/24_hierarchical_all_to_all.py

First each rank hands its rows to the rank of its own team that has the receiver's index, by stores;
that one has then, for each other team, the rows of its whole team, and puts them there at once.
"""

import numpy as np
import tilewire as tw
from common import check, random, run, to_device, to_host, window


@tw.kernel
def all_to_all(
    x: tw.Tensor["W", "N"],
    outbox: tw.Window["L", "S", "N"],
    y: tw.Window["W", "N"],
    *,
    N: tw.const,
    S: tw.const,
    B: tw.const = 1024,
):
    tw.barrier()  # nobody needs the old y, and no outbox is still being read
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        for team in tw.ranks(team=tw.rail):
            for mate in tw.ranks(team=tw.lsa):
                to = outbox.at(mate, team=tw.lsa)
                tw.store(to[team, tw.rank(tw.lsa), block], tw.load(x[team * S + mate, block]))
    tw.barrier(team=tw.lsa, scope="grid")  # the rows of the whole team are here
    for team in tw.persistent(tw.world_size(tw.rail)):
        begin = tw.rank(tw.rail) * S
        tw.put(y.at(team, team=tw.rail)[begin : begin + S, :], outbox[team, :, :])
    tw.barrier()  # all rows are there


def main(comm, N):
    S = comm.lsa_size
    x = to_device(comm, random(comm.rank, (comm.size, N)))
    outbox = window(comm, np.full((comm.size // S, S, N), np.nan, np.float32))
    y = window(comm, np.full((comm.size, N), np.nan, np.float32))
    all_to_all[tw.auto](x, outbox, y)
    expected = [random(r, (comm.size, N))[comm.rank] for r in range(comm.size)]
    check(to_host(comm, y), np.stack(expected))
    comm.barrier()
    return f"rows of {N} f32 exchanged"


if __name__ == "__main__":
    run(main, "1007", "N: elements of each row")
