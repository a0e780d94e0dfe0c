"""All-gather by copy engines: a kernel takes each shard as soon as it is there.

    python examples/13_copy_engine_all_gather.py --world 8 --shape 30001
    torchrun --nproc-per-node 2 examples/13_copy_engine_all_gather.py --shape 8000003

The copies take no multiprocessor, and run while kernels do: here while the kernel already works on
the shards that came first. A flag says which are there.
"""

import numpy as np
import tilewire as tw
from common import check, fill, poisoned, random, run, side_stream, to_host


@tw.kernel
def smooth(
    full: tw.Window["W", "N"],
    ready: tw.Flag["W"],
    y: tw.Tensor["W", "N"],
    *,
    N: tw.const,
    B: tw.const = 1024,
):
    for i in tw.unroll(tw.world_size()):  # one's own shard is there first
        r = (tw.rank() + i) % tw.world_size()
        tw.wait(ready[r])
        for b in tw.persistent(tw.cdiv(N, B)):
            left = tw.load(full[r, tw.ds(b * B - 1, B)])
            right = tw.load(full[r, tw.ds(b * B + 1, B)])
            tw.store(y[r, tw.ds(b * B, B)], (left + right) / 2)
    tw.barrier()  # every rank has taken what it needs: the shards may change


def main(comm, N):
    shard, full = comm.window(N, tw.f32), comm.window((comm.size, N), tw.f32)
    ready, y = comm.flag(comm.size), poisoned(comm, (comm.size, N))
    copies = side_stream(comm)
    for step in range(2):
        fill(comm, shard, random(10 * step + comm.rank, N))
        comm.barrier()  # every rank's shard is complete, and full may be overwritten
        with ready.fill(stream=copies) as filled:
            for i in range(comm.size):
                r = (comm.rank + i) % comm.size
                comm.copy(full[r], shard.at(r), then=filled[r])
        smooth[tw.auto](full, ready, y)
        shards = np.stack([random(10 * step + r, N) for r in range(comm.size)])
        shards = np.pad(shards, ((0, 0), (1, 1)))
        check(to_host(comm, y), (shards[:, :-2] + shards[:, 2:]) / 2, tolerance=1e-6)
    return f"shards of {N} f32 came by copy engines"


if __name__ == "__main__":
    run(main, "30001", "N: elements of each shard")
