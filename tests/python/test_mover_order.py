"""What the mover may do ahead of the consumers, and what it must leave to them."""

import tilewire as tw
from mover_roles import roles


@tw.kernel
def frees_operands(
    operand: tw.Window["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"],
    free: tw.Semaphore["F"], log: tw.Tensor["M", "N"]
):  # fmt: skip
    other = 1 - tw.rank()
    for t in tw.persistent(tw.tiles(M, N, 128, 128)):
        mine = tw.matmul(b[t.m, :], b[t.n, :].T)
        tw.store(result.at(other)[t.m, t.n], mine)
        more = tw.matmul(operand[t.m, :], b[t.n, :].T)
        tw.signal(free.at(other)[0])  # operand may be filled again
        tw.store(log[t.m, t.n], more)
    tw.barrier()


def test_what_tells_that_products_have_read_stays():
    mover, consumers = roles(frees_operands)
    assert mover == ["receive_tile", "drain_tile", "finish_moves"]
    assert consumers[:3] == ["put_tile", "await_moves", "semaphore_signal"]


@tw.kernel
def tells_by_value(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"],
    ready: tw.Flag["TILES"]
):  # fmt: skip
    other = 1 - tw.rank()
    for t in tw.persistent(tw.tiles(M, N, 128, 128)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(result.at(other)[t.m, t.n], mine)
        if tw.max(tw.max(mine, axis=1), axis=0) > 0:
            tw.set(ready.at(other)[t.index])


def test_no_mover_that_would_multiply():
    """It can't know whether to tell, and the consumers may await it only where it knows."""
    mover, consumers = roles(tells_by_value)
    assert mover is None
    assert consumers == ["tile_store", "flag_set"]


@tw.kernel
def tells_by_number(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"],
    ready: tw.Flag["TILES"], numbers: tw.Window["C"], *, DRAWS: tw.const
):  # fmt: skip
    other = 1 - tw.rank()
    for t in tw.persistent(tw.tiles(M, N, 128, 128)):
        number = tw.atomic_add(numbers[0], 1) if DRAWS else tw.load(numbers[t.index])
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(result.at(other)[t.m, t.n], mine)
        tw.set(ready.at(other)[number])


def test_what_only_consumers_know_they_tell():
    """Both would draw a number, or read it at different times."""
    for draws in (0, 1):
        mover, consumers = roles(tells_by_number, DRAWS=draws)
        assert mover == ["receive_tile", "drain_tile", "finish_moves"]
        assert consumers[-3:] == ["put_tile", "await_moves", "flag_set"]
        assert consumers.count("tile_atomic") == draws


@tw.kernel
def stores_twice(
    a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], result: tw.Window["M", "N"], *, STEP: tw.const
):
    other = 1 - tw.rank()
    for t in tw.persistent(tw.tiles(64, N, 64, 64)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        tw.store(result.at(other)[tw.ds(0, 64), t.n], mine)
        tw.store(result.at(other)[tw.ds(STEP, 64), t.n], mine)
    tw.barrier()


def test_stores_that_overlap_are_made_in_turn():
    """`receive_tile` waits for what is being stored; what is drained behind it doesn't."""
    mover, _ = roles(stores_twice, STEP=32)
    assert mover == ["receive_tile", "drain_tile", "receive_tile", "drain_tile", "finish_moves"]
    mover, _ = roles(stores_twice, STEP=0)
    assert mover == ["receive_tile", "drain_tile", "drain_tile", "finish_moves"]
