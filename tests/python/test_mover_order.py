"""What the mover may do ahead of the consumers, and what it must leave to them."""

import os
import subprocess
import sys
from pathlib import Path

import mover_roles
import tilewire as tw
from mover_roles import TARGET, TEXTS, roles


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


@tw.kernel
def at_any_rank(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    part: tw.Window[2, "R", "N"], ready: tw.Flag["TILES"], c: tw.Tensor["R", "N"], rank: tw.i32
):  # fmt: skip
    for t in tw.persistent(tw.tiles(R, N, 128, 128)):
        mine = tw.matmul(a[t.m, :], b[t.n, :].T)
        if t.index % 2 == 0:
            tw.store(part.at(rank)[0, t.m, t.n], mine)
            tw.set(ready.at(rank)[t.index])
        else:
            tw.wait(ready[t.index])
            tw.store(c[t.m, t.n], mine + tw.load(part.at(rank)[1, t.m, t.n]))


def checked(kernel):
    """Under TILEWIRE_CHECK=1: in a process of its own, since the environment is read once."""
    arguments = ["emit", f"{__file__}:{kernel}", "--target", TARGET, "--stage", "lowered"]
    for name in ("a", "b", "part", "ready", "c"):
        arguments += ["--arg", f"{name}={TEXTS[name]}"]
    program = f"from tilewire.cli import main; raise SystemExit(main({arguments!r}))"
    paths = [str(Path(tw.__file__).parents[1]), str(Path(mover_roles.__file__).parent)]
    environment = {**os.environ, "TILEWIRE_CHECK": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return mover_roles.roles_in(done.stdout.decode())


def test_the_mover_comes_nowhere_before_what_consumers_assert():
    """It would ask a rank that isn't there, and trap before the consumers say which it is."""
    mover, consumers = roles(at_any_rank)
    assert "fetch_tile" in mover and "flag_set" in mover
    mover, consumers = checked("at_any_rank")
    assert "fetch_tile" not in mover and "flag_set" not in mover
    assert "drain_tile" in mover and "tile_load" in consumers and "flag_set" in consumers
