"""The gated MLP of a language model with weights split over the ranks, in two kernels:
all-gather, GEMM and silu(gate) · up in the first, GEMM, reduce-scatter and residual in the second.

    python examples/17_gated_mlp.py --world 8 --shape 100,160,600
    torchrun --nproc-per-node 2 examples/17_gated_mlp.py --shape 8192,8192,28672

A rank has its share of the T rows of x, and F / world size of the inner columns. Rows of gate's and
up's weights alternate in blocks of HALF, so that a tile of their product holds both: nothing of
what lies between the products but `inner` is ever stored.
"""

import ml_dtypes
import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, share_of, to_device, to_host

HALF = 64  # rows of each that alternate


@tw.function
def push(shard, full, ready, first, BM, BK):
    """The shard's rows, which are `first` and the following ones, to all peers in blocks of BM."""
    size, rank, num_rows = tw.world_size(), tw.rank(), shard.shape[0]
    for i in tw.unroll(1, size):
        p = (rank - i) % size  # it comes to our rows after those of i - 1 others
        for block in tw.persistent(tw.cdiv(num_rows, BM)):
            rows = tw.ds(block * BM, BM)
            for k in range(0, shard.shape[1], BK):
                tile = tw.load(shard[rows, tw.ds(k, BK)])
                tw.store(full.at(p)[first : first + num_rows][rows, tw.ds(k, BK)], tile)
            tw.set(ready.at(p)[rank, block])


@tw.kernel
def up_projection(
    x: tw.constant(tw.Tensor["R", "H"]),
    weights: tw.constant(tw.Tensor["F2", "H"]),
    full: tw.Window["T", "H"],
    ready: tw.Flag["W", "BLOCKS"],
    inner: tw.Tensor["T", "F"],
    *,
    BM: tw.const,
    BK: tw.const = 64,
    PUSH: tw.const = 16,
):
    size, rank = tw.world_size(), tw.rank()
    with tw.instances(0, PUSH):
        tw.barrier()  # every rank has ended its last launch: `full` may be overwritten
        push(x, full, ready, rank * tw.cdiv(T, size), BM, BK)
    tiles = tw.tiles(T, F2, BM, 2 * HALF, split=size, start=rank)
    for t in tw.persistent(tiles, schedule="dynamic"):
        if t.part == rank:
            product = tw.matmul(x[t.local_m, :], weights[t.n, :].T, block_k=BK)
        else:
            tw.wait(ready[t.part, t.local_m.start // BM])
            product = tw.matmul(full[t.m, :], weights[t.n, :].T, block_k=BK)
        gate, up = tw.split(product, axis=1)
        tw.store(inner[t.m, tw.ds(t.n.start // 2, HALF)], gate * tw.sigmoid(gate) * up)


@tw.kernel
def down_projection(
    inner: tw.constant(tw.Tensor["T", "F"]),
    weights: tw.constant(tw.Tensor["H", "F"]),
    part: tw.Window["W", "RMAX", "H"],
    ready: tw.Flag["W", "TILES"],
    x: tw.Tensor["R", "H"],
    y: tw.Tensor["R", "H"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
):
    for t in tw.persistent(tw.tiles(T, H, BM, BN, split=tw.world_size(), start=tw.rank() + 1)):
        total = tw.matmul(inner[t.m, :], weights[t.n, :].T, block_k=BK)
        if t.part != tw.rank():
            tw.store(part.at(t.part)[tw.rank(), t.local_m, t.n], total)
            tw.set(ready.at(t.part)[tw.rank(), t.local_index])
        else:
            for r in tw.peers():
                tw.wait(ready[r, t.local_index])
                total += tw.load(part[r, t.local_m, t.n])
            tw.store(y[t.local_m, t.n], total + tw.load(x[t.local_m, t.n]))


BF16 = ml_dtypes.bfloat16


def alternating(gate, up):
    """Rows of both in turn, HALF of each; behind the last ones zeros."""
    short = -len(gate) % HALF
    blocks = [np.pad(each, ((0, short), (0, 0))).reshape(-1, HALF, each.shape[1])
              for each in (gate, up)]  # fmt: skip
    return np.stack(blocks, axis=1).reshape(-1, gate.shape[1])


def reference(x, gate, up, down):
    """In float64, but for `inner`, which is stored in bf16."""
    x, gate, up, down = (each.astype(np.float64) for each in (x, gate, up, down))
    gated = x @ gate.T
    inner = (gated / (1 + np.exp(-gated)) * (x @ up.T)).astype(BF16).astype(np.float64)
    return x + inner @ down.T


def main(comm, T, H, F):
    size, rank = comm.size, comm.rank
    BM, BN = (128, 128) if comm.target.is_cuda else (32, 32)
    rows, columns = share_of(T, size, rank), share_of(F, size, rank)
    gate, up = ((random(r, (F, H)) / np.sqrt(H)).astype(BF16) for r in (1, 2))
    down = (random(3, (H, F)) / np.sqrt(F)).astype(BF16)
    upper = to_device(comm, alternating(gate[columns], up[columns]))
    lower = to_device(comm, np.ascontiguousarray(down[:, columns]))

    chunk = -(-T // size)
    blocks = -(-chunk // BM)
    full, here = comm.window((T, H), tw.bf16), comm.flag((size, blocks))
    part = comm.window((size, chunk, H), tw.bf16, rotate=2)
    ready = comm.flag((size, blocks * -(-H // BN)))
    for step in range(2):
        x = random(10 + step, (T, H), BF16)
        shard, y = to_device(comm, x[rows]), poisoned(comm, (rows.stop - rows.start, H), BF16)
        inner = poisoned(comm, (T, columns.stop - columns.start), BF16)
        up_projection[tw.auto](shard, upper, full, here, inner, BM=BM)
        down_projection[tw.auto](inner, lower, part, ready, shard, y, BM=BM, BN=BN)
        error = check(to_host(comm, y), reference(x, gate, up, down)[rows], tolerance=2**-6)
    return f"[{T}, {H}] bf16 through {F} inner columns and back, {error:.1e} off"


if __name__ == "__main__":
    run(main, "100,160,600", "T,H,F: rows, their length, and inner columns")
