"""Flags, which count per launch, and windows that rotate."""

import tilewire as tw

from litmus.arrays import repeat, total, zeros


@tw.kernel
def flagged_messages(
    x: tw.Window["W", "G", "K"],
    ready: tw.Flag["W", "G"],
    launches: tw.Tensor["G"],
    wrong: tw.Tensor["G"],
    *,
    K: tw.const,
    CLOSED: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    n = tw.load(launches[i])
    count = 0
    for p in tw.ranks():
        if BROKEN == "order":
            tw.set(ready.at(p)[tw.rank(), i])
        tw.store(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        if BROKEN != "order":
            tw.set(ready.at(p)[tw.rank(), i])
    for r in tw.ranks():
        if BROKEN != "wait":
            tw.wait(ready[r, i])
        count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
    tw.store(wrong[i], tw.load(wrong[i]) + count)
    tw.store(launches[i], n + 1)
    if CLOSED:
        tw.barrier()


def flags_over_launches(comm, rounds, grid=1, broken="", K=33):
    """A flag counts the sets of its launch; a barrier at the end lets the next one store again."""
    x, ready = comm.window((comm.size, grid, K), tw.i32), comm.flag((comm.size, grid))
    launches, wrong = zeros(comm, grid), zeros(comm, grid)
    closed = broken != "closing barrier"
    repeat(
        comm,
        lambda: flagged_messages[grid](x, ready, launches, wrong, CLOSED=closed, BROKEN=broken),
        3 * rounds,
    )
    return total(comm, wrong)


def flags_over_rotating_windows(comm, rounds, grid=1, broken="", K=33):
    """The same where each launch stores into the next copy of a window: no barrier at all."""
    x, ready = comm.window((comm.size, grid, K), tw.i32, rotate=2), comm.flag((comm.size, grid))
    launches, wrong = zeros(comm, grid), zeros(comm, grid)
    repeat(
        comm,
        lambda: flagged_messages[grid](x, ready, launches, wrong, CLOSED=False, BROKEN=broken),
        3 * rounds,
    )
    return total(comm, wrong)


@tw.kernel
def flagged_copies(
    source: tw.Tensor["G", "K"],
    x: tw.Window["W", "G", "K"],
    ready: tw.Flag["W", "G"],
    launches: tw.Tensor["G"],
    wrong: tw.Tensor["G"],
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    n = tw.load(launches[i])
    count = 0
    tw.store(source[i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
    for p in tw.ranks():
        if BROKEN == "order":
            tw.set(ready.at(p)[tw.rank(), i])
        tw.put(x.at(p)[tw.rank(), i, :], source[i, :])
        if BROKEN != "order":
            tw.set(ready.at(p)[tw.rank(), i])
    if BROKEN != "wait":
        tw.wait(ready[:, i])
    for r in tw.ranks():
        count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
    tw.store(wrong[i], tw.load(wrong[i]) + count)
    tw.store(launches[i], n + 1)


def copies_and_flags(comm, rounds, grid=1, broken="", K=64):
    """A flag behind a put of memory, which may be a bulk copy; the window rotates."""
    x, ready = comm.window((comm.size, grid, K), tw.i32, rotate=3), comm.flag((comm.size, grid))
    source, launches, wrong = zeros(comm, (grid, K)), zeros(comm, grid), zeros(comm, grid)
    repeat(
        comm,
        lambda: flagged_copies[grid](source, x, ready, launches, wrong, BROKEN=broken),
        3 * rounds,
    )
    return total(comm, wrong)
