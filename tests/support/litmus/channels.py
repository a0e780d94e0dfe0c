"""Queues and exchanges."""

import tilewire as tw

from litmus.arrays import make, total, zeros


@tw.kernel
def fifo(
    ch: tw.Channel["W", "G"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        for p in tw.ranks():
            if BROKEN != "send" or n + 1 < rounds or tw.rank() > 0:
                tw.send(ch.at(p)[tw.rank(), i], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        for r in tw.ranks():
            count += tw.sum(tw.recv(ch[r, i]) != 100 * n + r)
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def messages_of_channels(comm, rounds, grid=1, broken="", K=33, depth=2, start=0):
    """The n-th message to come out of a slot is the n-th that was sent, across launches too."""
    wrong = zeros(comm, grid)
    ch = make(comm, "channel", (comm.size, grid), K, tw.i32, depth, False, True, start=start)
    for _ in range(3):
        fifo[grid](ch, wrong, rounds, K=K, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def exchanges(
    ch: tw.Channel["W", "G"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        if BROKEN != "exchange" or n + 1 < rounds or tw.rank() > 0:
            parts = tw.exchange(ch[:, i], tw.full((K,), 100 * n + tw.rank(), tw.i32))
            for r in tw.unroll(tw.world_size()):
                count += tw.sum(parts[r] != 100 * n + r)
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def exchanges_with_tags(comm, rounds, grid=1, broken="", K=33, start=0):
    wrong = zeros(comm, grid)
    ch = make(comm, "channel", (comm.size, grid), K, tw.i32, 1, True, True, start=start)
    for _ in range(3):
        exchanges[grid](ch, wrong, rounds, K=K, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def float_exchanges(
    ch: tw.Channel["W", "G"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        if BROKEN != "exchange" or n + 1 < rounds or tw.rank() > 0:
            value = (n % 65536).to(tw.f32) + 65536.0 * tw.rank()
            parts = tw.exchange(ch[:, i], tw.full((K,), value, tw.f32))
            for r in tw.unroll(tw.world_size()):
                count += tw.sum(parts[r] != (n % 65536).to(tw.f32) + 65536.0 * r)
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def exchanges_with_a_reserved_value(comm, rounds, grid=1, broken="", K=33, start=0):
    wrong = zeros(comm, grid)
    ch = make(comm, "channel", (comm.size, grid), K, tw.f32, 1, True, False, start=start)
    for _ in range(3):
        float_exchanges[grid](ch, wrong, rounds, K=K, BROKEN=broken)
    return total(comm, wrong)
