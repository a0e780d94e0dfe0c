"""Ranks, peers and teams, also where loads and stores don't reach all of the world."""

# ruff: noqa: SIM113 (a kernel counts for itself)

import numpy as np
import pytest
import tilewire as tw

WORLDS = ("1", "2", "3", "8", "2x4", "4x2", "11")


def sizes(world):
    with tw.init(virtual=world) as comm:
        return comm.size, comm.target.lsa_size


@tw.kernel
def peers_from(log: tw.Tensor["W"], start: tw.i64):
    n = 0
    for r in tw.peers(start=start):
        tw.store(log[n], r)
        n += 1


@tw.kernel
def peers_after_me(log: tw.Tensor["W"], w: tw.Window["N"]):
    n = 0
    for r in tw.peers(start=tw.rank() + 1):
        tw.store(log[n], r)
        n += 1


@pytest.mark.parametrize("world", WORLDS)
def test_peers_start(world):
    size, _ = sizes(world)
    with tw.init(virtual=world) as comm:
        for start in (0, 1, size - 1, size + 2):
            logs = [np.full(size, -1, np.int64) for _ in range(size)]
            peers_from[1](logs, start)
            for rank, log in enumerate(logs):
                around = [(start + i) % size for i in range(size)]
                assert log.tolist() == [r for r in around if r != rank] + [-1]
        logs = [np.full(size, -1, np.int64) for _ in range(size)]
        peers_after_me[1](logs, comm.window((1,), tw.f32))
        for rank, log in enumerate(logs):
            assert log.tolist() == [(rank + i) % size for i in range(1, size)] + [-1]


@tw.kernel
def describe_teams(y: tw.Tensor["K"], log: tw.Tensor["T", "W"]):
    tw.store(y[0], tw.rank())
    tw.store(y[1], tw.rank(tw.lsa))
    tw.store(y[2], tw.rank(tw.rail))
    tw.store(y[3], tw.rank(tw.local))
    tw.store(y[4], tw.world_size())
    tw.store(y[5], tw.world_size(tw.lsa))
    tw.store(y[6], tw.world_size(tw.rail))
    tw.store(y[7], tw.world_size(tw.local))
    n = 0
    for r in tw.ranks(team=tw.lsa):
        tw.store(log[0, n], r)
        n += 1
    n = 0
    for r in tw.peers(team=tw.lsa):
        tw.store(log[1, n], r)
        n += 1
    n = 0
    for r in tw.ranks(team=tw.rail):
        tw.store(log[2, n], r)
        n += 1
    n = 0
    for r in tw.peers(team=tw.rail):
        tw.store(log[3, n], r)
        n += 1


@pytest.mark.parametrize("world", WORLDS)
def test_teams(world):
    size, lsa = sizes(world)
    with tw.init(virtual=world):
        y = [np.full(8, -1, np.int64) for _ in range(size)]
        logs = [np.full((4, size), -1, np.int64) for _ in range(size)]
        describe_teams[1](y, logs)
    rail = size // lsa
    for rank in range(size):
        own = (rank % lsa, rank // lsa)
        assert y[rank].tolist() == [rank, *own, 0, size, lsa, rail, 1]
        ranks = [range(lsa), range(lsa), range(rail), range(rail)]
        for row, (log, members) in enumerate(zip(logs[rank], ranks, strict=True)):
            left_out = own[row // 2] if row % 2 else None
            expected = [r for r in members if r != left_out]
            assert log[: len(expected)].tolist() == expected
            assert (log[len(expected) :] == -1).all()


@tw.kernel
def sum_reached(x: tw.Window["N"], y: tw.Tensor["N"], flags: tw.Tensor["W"], *, N: tw.const):
    tw.barrier(team=tw.lsa)
    total = tw.zeros(N, tw.f32)
    for r in tw.ranks():
        if tw.is_lsa(r):
            total += tw.load(x.at(r)[:])
        tw.store(flags[r], tw.is_lsa(r))
    for r in tw.peers(start=tw.rank() + 1):
        if tw.is_lsa(r) and N > 2:
            total += tw.load(x.at(r)[:]) * 1000.0
    tw.store(y[:], total)
    tw.barrier(team=tw.lsa)


@pytest.mark.parametrize("world", WORLDS)
def test_at_under_is_lsa(world):
    size, lsa = sizes(world)
    with tw.init(virtual=world) as comm:
        x = comm.window((4,), tw.f32)
        for r in range(size):
            x.at(r)[...] = r + 1
        y = [np.full(4, np.nan, np.float32) for _ in range(size)]
        flags = [np.full(size, False) for _ in range(size)]
        sum_reached[1](x, y, flags)
    for rank in range(size):
        team = [r for r in range(size) if r // lsa == rank // lsa]
        assert flags[rank].tolist() == [r in team for r in range(size)]
        peers = sum(r + 1 for r in team if r != rank)
        assert (y[rank] == sum(r + 1 for r in team) + 1000 * peers).all()


def test_at_of_a_rank_that_was_not_tested():
    @tw.kernel
    def f(x: tw.Window["N"], y: tw.Tensor["N"]):
        for r in tw.ranks():
            if tw.is_lsa(r):
                tw.store(y[0], tw.load(x.at(r + 1)[0]))

    with tw.init(virtual="2x2") as comm:
        x = comm.window((4,), tw.f32)
        with pytest.raises(tw.UserError) as caught:
            f[1](x, [np.zeros(4, np.float32) for _ in range(4)])
    assert "under `if tw.is_lsa(r):`" in str(caught.value)
    assert caught.value.line == f.source.line(f.source.function) + 3


def test_at_in_the_else_branch():
    @tw.kernel
    def f(x: tw.Window["N"], y: tw.Tensor["N"]):
        for r in tw.ranks():
            if tw.is_lsa(r):
                tw.store(y[0], 1.0)
            else:
                tw.store(y[0], tw.load(x.at(r)[0]))

    with tw.init(virtual="2x2") as comm:
        x = comm.window((4,), tw.f32)
        with pytest.raises(tw.UserError, match="load reaches the 2 ranks"):
            f[1](x, [np.zeros(4, np.float32) for _ in range(4)])
