"""Kernels over channels that CPU and GPU tests share."""

import tilewire as tw


@tw.kernel
def all_reduce(x: tw.Tensor["N"], y: tw.Tensor["N"], ch: tw.Channel, *, B: tw.const):
    i = tw.program_id(0)
    for b in tw.persistent(tw.cdiv(N, B)):
        parts = tw.exchange(ch[:, i], tw.load(x[tw.ds(b * B, B)]))
        tw.store(y[tw.ds(b * B, B)], tw.sum(parts, axis=0))


@tw.kernel
def all_reduce_by_block(x: tw.Tensor["N"], y: tw.Tensor["N"], ch: tw.Channel, *, B: tw.const):
    """A slot per block; the large tile beside it asks for more threads."""
    for b in tw.persistent(tw.cdiv(N, B)):
        parts = tw.exchange(ch[:, b], tw.load(x[tw.ds(b * B, B)]))
        wide = tw.full((16, B), 0.0, tw.f32) + tw.sum(parts, axis=0)[None, :]
        tw.store(y[tw.ds(b * B, B)], tw.max(wide, axis=0))


@tw.kernel
def gather_twice(
    x: tw.Tensor["B"], y: tw.Tensor[2, "W", "B"], ch: tw.Channel, *, W: tw.const, B: tw.const
):
    """Two statements of one slot."""
    mine = tw.load(x[:])
    first = tw.exchange(ch[:, 0], mine)
    second = tw.exchange(ch[:, 0], first[tw.world_size() - 1] + mine)
    tw.store(y[0, :, :], first)
    tw.store(y[1, :, :], second)


@tw.kernel
def gather(x: tw.Tensor["B"], y: tw.Tensor["W", "B"], ch: tw.Channel, *, W: tw.const, B: tw.const):
    tw.store(y[:, :], tw.exchange(ch[:, 0], tw.load(x[:])))


@tw.kernel
def pass_on(x: tw.Tensor["M", "B"], y: tw.Tensor["M", "B"], ch: tw.Channel, *, B: tw.const):
    """Each message goes once around the ring."""
    me, size = tw.rank(), tw.world_size()
    following = (me + 1) % size
    for m in range(M):
        tw.send(ch.at(following)[0], tw.load(x[m, :]))
        for _hop in range(size - 1):
            tw.send(ch.at(following)[0], tw.recv(ch[0]))
        tw.store(y[m, :], tw.recv(ch[0]))


@tw.kernel
def pass_on_in_turn(x: tw.Tensor["M", "B"], y: tw.Tensor["M", "B"], ch: tw.Channel, *, B: tw.const):
    """The same with a slot that depends on the message."""
    me, size = tw.rank(), tw.world_size()
    following = (me + 1) % size
    for m in range(M):
        tw.send(ch.at(following)[m % 2], tw.load(x[m, :]))
        for _hop in range(size - 1):
            tw.send(ch.at(following)[m % 2], tw.recv(ch[m % 2]))
        tw.store(y[m, :], tw.recv(ch[m % 2]))
