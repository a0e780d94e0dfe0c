"""All-to-all: row p of rank r's array becomes row r of rank p's.

python examples/08_all_to_all.py --world 8 --shape 10007
torchrun --nproc-per-node 2 examples/08_all_to_all.py
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_host, window


@tw.kernel
def all_to_all(x: tw.Window["W", "N"], y: tw.Tensor["W", "N"], *, N: tw.const, B: tw.const = 1024):
    tw.barrier()  # every rank's x is complete
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        for r in tw.ranks():
            tw.store(y[r, block], tw.load(x.at(r)[tw.rank(), block]))
    tw.barrier()  # nobody refills x while a peer still reads it


def main(comm, N):
    x, y = window(comm, random(comm.rank, (comm.size, N))), poisoned(comm, (comm.size, N))
    all_to_all[tw.auto](x, y)
    expected = [random(r, (comm.size, N))[comm.rank] for r in range(comm.size)]
    check(to_host(comm, y), np.stack(expected))
    return f"rows of {N} f32 exchanged"


if __name__ == "__main__":
    run(main, "10007", "N: elements of each row")
