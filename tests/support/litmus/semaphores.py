"""Semaphores behind stores, puts and copies."""

import tilewire as tw

from litmus.arrays import make, total, zeros


@tw.kernel
def signalled_messages(
    x: tw.Window["W", "G", "K"],
    full: tw.Semaphore["W", "G"],
    free: tw.Semaphore["W", "G"],
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
            if BROKEN != "credit":
                tw.wait(free[p, i])
            if BROKEN == "order":
                tw.signal(full.at(p)[tw.rank(), i])
            tw.store(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
            if BROKEN != "order":
                tw.signal(full.at(p)[tw.rank(), i])
        for r in tw.ranks():
            if BROKEN != "wait":
                tw.wait(full[r, i])
            count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
            tw.signal(free.at(r)[tw.rank(), i])
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def message_passing_by_semaphores(comm, rounds, grid=1, broken="", K=33, start=0):
    """A store, then a signal: who waits for it sees the store. Another gives the place back."""
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    full = make(comm, "semaphore", (comm.size, grid), start=start)
    free = make(comm, "semaphore", (comm.size, grid), 1, start=start)
    for _ in range(3):
        signalled_messages[grid](x, full, free, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def ring(
    x: tw.Window["D", "G", "K"],
    full: tw.Semaphore["D", "G"],
    free: tw.Semaphore["D", "G"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    D: tw.const,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    size = tw.world_size()
    after, before = (tw.rank() + 1) % size, (tw.rank() - 1) % size
    count = 0
    for n in range(rounds):
        d = n % D
        if BROKEN != "credit":
            tw.wait(free[d, i])
        tw.store(x.at(after)[d, i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        tw.signal(full.at(after)[d, i])
        if BROKEN != "wait":
            tw.wait(full[d, i])
        count += tw.sum(tw.load(x[d, i, :]) != 100 * n + before)
        tw.signal(free.at(before)[d, i])
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def ring_with_credits(comm, rounds, grid=1, broken="", K=33):
    """Two buffers between neighbours; each rank runs as far ahead as they allow. Two ranks can't
    run so far apart that they would need credits for two buffers: without them there is one."""
    depth = 1 if broken == "credit" else 2
    x, wrong = comm.window((depth, grid, K), tw.i32), zeros(comm, grid)
    full, free = comm.semaphore((depth, grid)), comm.semaphore((depth, grid), init=1)
    for _ in range(3):
        ring[grid](x, full, free, wrong, 2 * (rounds // 2), BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def put_messages(
    x: tw.Window["W", "G", "K"],
    full: tw.Semaphore["W", "G"],
    free: tw.Semaphore["W", "G"],
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
            tw.wait(free[p, i])
            if BROKEN == "order":
                tw.signal(full.at(p)[tw.rank(), i])
            tw.put(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
            if BROKEN != "order":
                tw.signal(full.at(p)[tw.rank(), i])
        for r in tw.ranks():
            if BROKEN != "wait":
                tw.wait(full[r, i])
            count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
            tw.signal(free.at(r)[tw.rank(), i])
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def message_passing_by_puts(comm, rounds, grid=1, broken="", K=33):
    """Whatever signals a rank covers all earlier puts to it."""
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    full, free = comm.semaphore((comm.size, grid)), comm.semaphore((comm.size, grid), init=1)
    for _ in range(3):
        put_messages[grid](x, full, free, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def copied_messages(
    source: tw.Tensor["G", "K"],
    x: tw.Window["W", "G", "K"],
    full: tw.Semaphore["W", "G"],
    free: tw.Semaphore["W", "G"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        tw.store(source[i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        for p in tw.ranks():
            if BROKEN != "credit":
                tw.wait(free[p, i])
            tw.put(x.at(p)[tw.rank(), i, :], source[i, :], signal=full.at(p)[tw.rank(), i])
        tw.flush()  # the source may be written again
        for r in tw.ranks():
            if BROKEN != "wait":
                tw.wait(full[r, i])
            count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
            tw.signal(free.at(r)[tw.rank(), i])
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def copies_that_signal(comm, rounds, grid=1, broken="", K=64):
    """A put of memory, maybe a bulk copy, with a signal behind it; then the source changes."""
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    source = zeros(comm, (grid, K))
    full, free = comm.semaphore((comm.size, grid)), comm.semaphore((comm.size, grid), init=1)
    for _ in range(3):
        copied_messages[grid](source, x, full, free, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)
