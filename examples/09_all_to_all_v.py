"""All-to-all whose splits live on the GPU: tokens go to the ranks that hold their experts.

    python examples/09_all_to_all_v.py --world 8 --shape 100,256
    torchrun --nproc-per-node 2 examples/09_all_to_all_v.py

Each rank has its rows in order of their destination, and says in a window how many go to whom. No
host looks at these numbers: ranks read each other's, and find where their rows begin. Some send
nothing to some.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_host, window


@tw.kernel
def all_to_all_v(
    x: tw.Window["M", "H"],
    num_rows: tw.Window["W"],
    y: tw.Tensor["R", "H"],
    received: tw.Tensor["W"],
    *,
    W: tw.const,
    H: tw.const,
):
    tw.barrier()  # every rank's rows and numbers are complete
    end = 0
    for r in tw.ranks():
        of_rank = tw.load(num_rows.at(r)[:])
        before_mine = tw.sum(tw.where(tw.arange(W) < tw.rank(), of_rank, 0))
        mine = of_rank[tw.rank()]
        for row in tw.persistent(mine):
            tw.store(y[end + row, :], tw.load(x.at(r)[before_mine + row, :]))
        if tw.program_id(0) == 0:
            tw.store(received[r], mine)
        end += mine
    tw.barrier()  # nobody refills x while a peer still reads it


def splits(rank, size, M):
    """How many of its M rows the rank sends to whom; not all of them, and to every third none."""
    weights = np.random.default_rng(rank).integers(0, 10, size)
    weights[rank % 3 :: 3] = 0
    return (M * weights // max(weights.sum(), 1)).astype(np.int32)


def main(comm, M, H):
    all_splits = np.stack([splits(r, comm.size, M) for r in range(comm.size)])
    x, num_rows = window(comm, random(comm.rank, (M, H))), window(comm, all_splits[comm.rank])
    y = poisoned(comm, (comm.size * M, H))
    received = poisoned(comm, comm.size, np.int32)
    all_to_all_v[8](x, num_rows, y, received)

    expected = []
    for r in range(comm.size):
        begin = all_splits[r, : comm.rank].sum()
        expected.append(random(r, (M, H))[begin : begin + all_splits[r, comm.rank]])
    expected = np.concatenate(expected)
    check(to_host(comm, received), all_splits[:, comm.rank])
    check(to_host(comm, y)[: len(expected)], expected)
    if not np.isnan(to_host(comm, y)[len(expected) :]).all():
        raise ValueError("rows that nobody sent were written")
    return f"{all_splits.sum()} rows of {H} f32 went where the splits say"


if __name__ == "__main__":
    run(main, "100,256", "M,H: rows of each rank, and their length")
