"""All-reduce through the switch: every rank reads the sum of all ranks' memory.

    python examples/18_all_reduce_multimem_one_shot.py --world 8 --shape 100003
    torchrun --nproc-per-node 8 examples/18_all_reduce_multimem_one_shot.py

Where there is multimem (NVLink switches), an element crosses each rank's link once, already summed.
Elsewhere, and on GPUs without it, the same line loads all copies. For small arrays.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, to_host, window


@tw.kernel
def all_reduce(x: tw.Window["N"], y: tw.Tensor["N"], *, B: tw.const = 1024):
    tw.barrier()  # every rank's x is complete
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        tw.store(y[block], tw.all_reduce_load(x[block], order="any"))
    tw.barrier()  # nobody refills x while a peer still reads it


def main(comm, N):
    x, y = window(comm, random(comm.rank, N)), poisoned(comm, N)
    all_reduce[tw.auto](x, y)
    expected = sum(random(r, N).astype(np.float64) for r in range(comm.size))
    error = check(to_host(comm, y), expected, tolerance=1e-5)
    how = "by multimem" if comm.target.multimem else "by loads"
    return f"sum of {N} f32 {how} is right, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100003", "N: elements", multimem=True)
