"""Ways to all-reduce, of which each size has a best one: what the benchmark compares.

Every kernel adds in f32 and rounds once, and leaves equal bits on all ranks. `x` may be any memory
where no peer reads it.
"""

import tilewire as tw


@tw.kernel
def one_shot(x: tw.Window["N"], y: tw.Tensor["N"], *, B: tw.const):
    """Everybody reads everything."""
    tw.barrier()
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        total = tw.zeros((B,), tw.f32)
        for r in tw.ranks():
            total += tw.load(x.at(r)[block])
        tw.store(y[block], total)
    tw.barrier()


@tw.kernel
def two_shot_pull(x: tw.Window["N"], y: tw.Window["N"], *, B: tw.const):
    """A block's owner reads it from all ranks, and stores the sum at all."""
    tw.barrier()
    for b in tw.persistent(tw.cdiv(tw.cdiv(N, B), tw.world_size())):
        block = tw.ds((b * tw.world_size() + tw.rank()) * B, B)
        total = tw.zeros((B,), tw.f32)
        for r in tw.ranks():
            total += tw.load(x.at(r)[block])
        for r in tw.ranks():
            tw.store(y.at(r)[block], total)
    tw.barrier()


@tw.kernel
def two_shot_push(
    x: tw.Tensor["N"], parts: tw.Window["W", "P", "B"], y: tw.Window["N"], *, B: tw.const
):
    """Ranks store a block at its owner, which stores the sum at all: only stores cross the links,
    which carry more of them than of loads. `parts[r, b]` is what rank r sent of this rank's b-th
    block.

    The first barrier meets instances of equal ids, which have the same blocks; it also says that
    the peers' kernels before this one, which read the old `y` and `parts`, are over.
    """
    for b in tw.persistent(tw.cdiv(tw.cdiv(N, B), tw.world_size())):
        for p in tw.peers():
            tw.store(
                parts.at(p)[tw.rank(), b, :], tw.load(x[tw.ds((b * tw.world_size() + p) * B, B)])
            )
    tw.barrier()
    for b in tw.persistent(tw.cdiv(tw.cdiv(N, B), tw.world_size())):
        block = tw.ds((b * tw.world_size() + tw.rank()) * B, B)
        total = tw.load(x[block]).to(tw.f32)
        for p in tw.peers():
            total += tw.load(parts[p, b, :])
        for r in tw.ranks():
            tw.store(y.at(r)[block], total)
    tw.barrier()


@tw.kernel
def two_shot_halves(
    x: tw.Tensor["N"],
    parts: tw.Window["W", "P", "B"],
    y: tw.Window["N"],
    *,
    B: tw.const,
    C: tw.const,
):
    """As `two_shot_push` in C rounds: while the links carry the parts of the next round, this one's
    sums follow them, and what they need still lies in the L2."""
    num_blocks = tw.cdiv(tw.cdiv(N, B), tw.world_size())
    per_round = tw.cdiv(num_blocks, C)
    for c in range(C + 1):
        for i in tw.persistent(per_round):
            b = c * per_round + i
            if c < C:
                for p in tw.peers():
                    tw.store(
                        parts.at(p)[tw.rank(), b, :],
                        tw.load(x[tw.ds((b * tw.world_size() + p) * B, B)]),
                    )
            if c > 0:
                done = b - per_round
                block = tw.ds((done * tw.world_size() + tw.rank()) * B, B)
                total = tw.load(x[block]).to(tw.f32)
                for p in tw.peers():
                    total += tw.load(parts[p, done, :])
                for r in tw.ranks():
                    tw.store(y.at(r)[block], total)
        tw.barrier()


@tw.kernel
def two_shot_put(
    x: tw.Tensor["N"], parts: tw.Window["W", "P", "B"], y: tw.Window["N"], *, B: tw.const
):
    """As `two_shot_push`, where the parts are copied from memory to memory: in bulk, where that is
    possible, so that no registers hold them."""
    for b in tw.persistent(tw.cdiv(tw.cdiv(N, B), tw.world_size())):
        for p in tw.peers():
            block = tw.ds((b * tw.world_size() + p) * B, B)
            tw.put(parts.at(p)[tw.rank(), b, :], x[block])
    tw.barrier()
    for b in tw.persistent(tw.cdiv(tw.cdiv(N, B), tw.world_size())):
        block = tw.ds((b * tw.world_size() + tw.rank()) * B, B)
        total = tw.load(x[block]).to(tw.f32)
        for p in tw.peers():
            total += tw.load(parts[p, b, :])
        for r in tw.ranks():
            tw.store(y.at(r)[block], total)
    tw.barrier()


def num_parts(num_elements: int, world: int, block: int) -> int:
    """P: how many blocks a rank owns."""
    num_blocks = -(-num_elements // block)
    return -(-num_blocks // world)


@tw.kernel
def over_channels(
    x: tw.Tensor["N"], y: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const, B: tw.const
):
    """Everybody sends everything to everybody; a block's arrival is seen in the block itself. Of a
    static size, so that whole blocks need no masks."""
    i = tw.program_id(0)
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        tw.store(y[block], tw.sum(tw.exchange(ch[:, i], tw.load(x[block])), axis=0))


@tw.kernel
def over_channel_slots(
    x: tw.Tensor["N"], y: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const, B: tw.const
):
    """The same with a slot per block: more memory, and no fence between the blocks of an instance,
    since each slot has one exchange in a launch."""
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        tw.store(y[block], tw.sum(tw.exchange(ch[:, b], tw.load(x[block])), axis=0))


@tw.kernel
def norm_over_channels(
    x: tw.Tensor["T", "H"],
    residual: tw.Tensor["T", "H"],
    gain: tw.constant(tw.Tensor["H"]),
    hidden: tw.Tensor["T", "H"],
    y: tw.Tensor["T", "H"],
    ch: tw.Channel,
    eps: tw.f32,
    *,
    H: tw.const,
):
    """All-reduce, residual and RMS norm: each row in a slot of its own, so that rows don't wait for
    what the rows before leave behind."""
    for row in tw.persistent(T):
        parts = tw.exchange(ch[:, row], tw.load(x[row, :]))
        sums = tw.sum(parts, axis=0) + tw.load(residual[row, :])
        tw.store(hidden[row, :], sums)  # the next residual
        scale = tw.rsqrt(tw.sum(sums * sums) / H + eps)
        tw.store(y[row, :], sums * scale * tw.load(gain[:]))
