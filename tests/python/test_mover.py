"""The mover's branch of kernels with products: what it does, and what stays the consumers'."""

import pytest
import tilewire as tw
from mover_roles import TEXTS, roles, text_of
from role_loops import check_loops


@tw.kernel
def terms(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    part: tw.Window[2, "R", "N"], ready: tw.Flag["TILES"], c: tw.Tensor["R", "N"]
):  # fmt: skip
    me = tw.rank()
    for t in tw.persistent(tw.tiles(M, N, 128, 128, split=2, start=me + 1)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        if t.part != me:
            tw.store(part.at(t.part)[me, t.local_m, t.n], mine)
            tw.set(ready.at(t.part)[t.local_index])
        else:
            tw.wait(ready[t.local_index])
            tw.store(c[t.local_m, t.n], mine + tw.load(part[1 - me, t.local_m, t.n]))


@pytest.mark.parametrize("part", [TEXTS["part"], TEXTS["part"].replace("window", "window*2")])
def test_stores_and_loads_are_the_movers(part):
    mover, consumers = roles(terms, part=part)
    assert mover == [
        "receive_tile", "drain_tile", "settle_moves", "flag_set", "flag_wait", "fetch_tile",
        "finish_moves",
    ]  # fmt: skip
    assert consumers == ["put_tile", "take_tile", "tile_store", "await_moves"]
    check_loops(text_of(terms, "cuda", part=part))


@tw.kernel
def to_all(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"],
    ready: tw.Flag["TILES"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 128)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        for r in tw.ranks():
            tw.store(result.at(r)[t.m, t.n], mine)
        for r in tw.ranks():
            tw.set(ready.at(r)[t.index])


def test_a_tile_for_several_ranks_is_put_once():
    mover, consumers = roles(to_all)
    assert mover.count("receive_tile") == consumers.count("put_tile") == 1
    assert mover.count("drain_tile") == mover.count("flag_set") == 2
    assert "tile_store" not in consumers and "flag_set" not in consumers


@tw.kernel
def after_more(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"],
    free: tw.Semaphore["F"], journal: tw.Tensor[1, "M", "N"], *, LOGS: tw.const
):  # fmt: skip
    other = 1 - tw.rank()
    for t in tw.persistent(tw.tiles(M, N, 128, 128)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(result.at(other)[t.m, t.n], mine)
        if LOGS:
            tw.store(journal[0, t.m, t.n], mine)
        tw.signal(free.at(other)[0])
    tw.barrier()


def test_what_tells_of_more_than_the_movers_stores_stays():
    """The signal covers what consumers have written since they last met the mover."""
    mover, consumers = roles(after_more, LOGS=0)
    assert mover == [
        "receive_tile", "drain_tile", "settle_moves", "semaphore_signal", "finish_moves",
    ]  # fmt: skip
    assert consumers == ["put_tile", "await_moves", "lsa_barrier"]
    mover, consumers = roles(after_more, LOGS=1)
    assert mover == ["receive_tile", "drain_tile", "finish_moves"]
    assert consumers == [
        "put_tile", "tile_store", "await_moves", "semaphore_signal", "lsa_barrier",
    ]  # fmt: skip


@tw.kernel
def waits_at_once(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], part: tw.Window[2, "R", "N"],
    ready: tw.Flag["TILES"], c: tw.Tensor["R", "N"]
):  # fmt: skip
    me = tw.rank()
    for t in tw.persistent(tw.tiles(R, N, 128, 128)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(part.at(1 - me)[me, t.m, t.n], mine)
        tw.set(ready.at(1 - me)[t.index])
        tw.wait(ready[t.index])
        tw.store(c[t.m, t.n], mine + tw.load(part[1 - me, t.m, t.n]))


def test_no_mover_where_the_instance_waits_for_the_answer():
    mover, consumers = roles(waits_at_once)
    assert mover is None
    assert consumers.count("tile_store") == 2 and "flag_set" in consumers


@tw.kernel
def adds_in_place(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"],
    log: tw.Tensor["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 128)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T) + tw.load(log[t.m, t.n])
        tw.store(log[t.m, t.n], mine)
        tw.store(result.at(1 - tw.rank())[t.m, t.n], mine)
    tw.barrier()


def test_what_consumers_write_the_mover_does_not_load():
    mover, consumers = roles(adds_in_place)
    assert "fetch_tile" not in mover and "drain_tile" in mover
    assert "tile_load" in consumers


@tw.kernel
def behind_a_barrier(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"],
    part: tw.Window[2, "R", "N"]
):  # fmt: skip
    tw.barrier()
    for t in tw.persistent(tw.tiles(R, N, 128, 128)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T) + tw.load(part[0, t.m, t.n])
        tw.store(result.at(1 - tw.rank())[t.m, t.n], mine)
    tw.barrier()


def test_what_consumers_acquired_the_mover_does_not_load():
    mover, consumers = roles(behind_a_barrier)
    assert "fetch_tile" not in mover and "drain_tile" in mover
    assert consumers.index("lsa_barrier") < consumers.index("tile_load")


@tw.kernel
def behind_the_producers_wait(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.Tensor["N", "K"], part: tw.Window[2, "R", "N"],
    ready: tw.Flag["TILES"], result: tw.Window["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(R, N, 128, 128)):
        tw.wait(ready[t.index])  # for b, and for part
        mine = tw.matmul(a[t.m, :], b[t.n, :].T) + tw.load(part[0, t.m, t.n])
        tw.store(result.at(1 - tw.rank())[t.m, t.n], mine)
    tw.barrier()


def test_what_the_producer_waited_for_the_mover_does_not_load():
    mover, consumers = roles(behind_the_producers_wait)
    assert "fetch_tile" not in mover and "drain_tile" in mover
    assert "tile_load" in consumers


@tw.kernel
def wide_tiles(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], wide: tw.Window["M", "N"], *, BN: tw.const
):
    for t in tw.persistent(tw.tiles(M, N, 128, BN)):
        tw.store(wide.at(1 - tw.rank())[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T))
    tw.barrier()


def test_a_tile_must_find_room():
    """128 x 256 of f32 take 130 KiB, beside which three slots of the ring don't fit."""
    assert roles(wide_tiles, BN=64)[0] is not None
    assert roles(wide_tiles, BN=256)[0] is None


@pytest.mark.parametrize("target", ["sm_80:world=2", "sm_100a:world=2", "cpu:world=2"])
def test_other_targets_have_none(target, emitted):
    texts = {name: TEXTS[name] for name in ("a", "b", "part", "ready", "c")}
    assert "is_mover" not in emitted(terms, target, "lowered", **texts)
