"""All-to-all by puts: row p of rank r's array becomes row r of rank p's, on any topology.

    python examples/20_all_to_all_put.py --world 2x4 --shape 10007
    torchrun --nproc-per-node 2 examples/20_all_to_all_put.py

A put goes by stores where they reach, and over the network where they don't: 8 ranks in one LSA
team, in two or in eight run the same program.
"""

import numpy as np
import tilewire as tw
from common import check, random, run, to_host, window


@tw.kernel
def all_to_all(x: tw.Window["W", "N"], y: tw.Window["W", "N"], *, N: tw.const):
    tw.barrier()  # nobody needs the old y
    for i in tw.persistent(tw.world_size()):
        p = (tw.rank() + 1 + i) % tw.world_size()  # not all to one at a time
        tw.put(y.at(p)[tw.rank(), :], x[p, :])
    tw.barrier()  # all rows are there, and x may be refilled


def main(comm, N):
    x = window(comm, random(comm.rank, (comm.size, N)))
    y = window(comm, np.full((comm.size, N), np.nan, np.float32))
    all_to_all[min(comm.size, 16)](x, y)
    expected = [random(r, (comm.size, N))[comm.rank] for r in range(comm.size)]
    check(to_host(comm, y), np.stack(expected))
    comm.barrier()
    return f"rows of {N} f32 put"


if __name__ == "__main__":
    run(main, "10007", "N: elements of each row")
