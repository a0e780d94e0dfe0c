"""What goes over the network: right on any world, and what only a network gets wrong."""

import tilewire as tw

from litmus.arrays import total, zeros


@tw.kernel
def put_from_windows(
    x: tw.Window["W", "G", "K"],
    source: tw.Window["G", "K"],
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
            tw.wait(free[p, i])
            if BROKEN == "order":
                tw.signal(full.at(p)[tw.rank(), i])
            tw.put(x.at(p)[tw.rank(), i, :], source[i, :])
            if BROKEN != "order":
                tw.signal(full.at(p)[tw.rank(), i])
        if BROKEN != "flush":
            tw.flush()  # the source may be written again
        for r in tw.ranks():
            if BROKEN != "wait":
                tw.wait(full[r, i])
            count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
            tw.signal(free.at(r)[tw.rank(), i])
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def puts_then_signals(comm, rounds, grid=1, broken="", K=33):
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    source = comm.window((grid, K), tw.i32)
    full, free = comm.semaphore((comm.size, grid)), comm.semaphore((comm.size, grid), init=1)
    for _ in range(3):
        put_from_windows[grid](x, source, full, free, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def put_then_meet(
    x: tw.Window["W", "G", "K"],
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
            tw.put(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        if BROKEN != "barrier":
            tw.barrier(order="relaxed" if BROKEN == "relaxed" else "acq_rel")
        for r in tw.ranks():
            count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
        if BROKEN != "read":
            tw.barrier()
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def puts_then_a_barrier(comm, rounds, grid=1, broken="", K=33):
    """Puts to several peers; what each of them got is there behind a barrier."""
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    for _ in range(3):
        put_then_meet[grid](x, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def store_put_signal(
    near: tw.Window["G", "K"],
    far: tw.Window["G", "K"],
    there: tw.Semaphore["G"],
    asked: tw.Semaphore["G"],
    told: tw.Semaphore["G"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    """Stores to its neighbour, puts to the next rank of the rail and signals that one, which tells
    the neighbour."""
    i = tw.program_id(0)
    lsa, rail = tw.world_size(tw.lsa), tw.world_size(tw.rail)
    place, team = tw.rank(tw.lsa), tw.rank(tw.rail)
    mate = (place + 1) % lsa
    after = (team + 1) % rail * lsa + place
    count = 0
    for n in range(rounds):
        value = tw.full((K,), 100 * n + tw.rank(), tw.i32)
        if BROKEN == "order":
            tw.signal(there.at(after)[i])
        tw.store(near.at(mate, team=tw.lsa)[i, :], value)
        tw.put(far.at(after)[i, :], value)
        if BROKEN == "mate":  # who tells has put nothing there itself
            tw.signal(asked.at(mate, team=tw.lsa)[i])
            tw.wait(asked[i])
            tw.signal(there.at((team + 1) % rail * lsa + (place - 1) % lsa)[i])
        elif BROKEN != "order":
            tw.signal(there.at(after)[i])
        tw.wait(there[i])
        before = (team - 1) % rail * lsa
        count += tw.sum(tw.load(far[i, :]) != 100 * n + before + place)
        tw.signal(told.at(before + mate)[i])
        tw.wait(told[i])
        count += tw.sum(tw.load(near[i, :]) != 100 * n + team * lsa + (place - 1) % lsa)
        tw.barrier()
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def a_store_a_put_a_signal(comm, rounds, grid=1, broken="", K=33):
    near, far = comm.window((grid, K), tw.i32), comm.window((grid, K), tw.i32)
    there, asked, told = (comm.semaphore((grid,)) for _ in range(3))
    wrong = zeros(comm, grid)
    for _ in range(3):
        store_put_signal[grid](near, far, there, asked, told, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def put_by_all(
    x: tw.Window["W", "G", "K"],
    there: tw.Semaphore["W"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    """All instances put; what one of them says at the end covers all only if the grid has met."""
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        for p in tw.ranks():
            tw.put(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        if BROKEN == "signal":
            tw.barrier(team=tw.local, scope="grid")
            if i == 0:
                for p in tw.ranks():
                    tw.signal(there.at(p)[tw.rank()])
                tw.wait(there[:])
            tw.barrier(team=tw.local, scope="grid")
        else:
            tw.barrier(scope="instance" if BROKEN == "scope" else "grid")
        for r in tw.ranks():
            count += tw.sum(tw.load(x[r, (i + 1) % tw.num_programs(0), :]) != 100 * n + r)
        if BROKEN != "read":
            tw.barrier(scope="grid")
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def puts_of_all_instances(comm, rounds, grid=3, broken="", K=33):
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    there = comm.semaphore(comm.size)
    for _ in range(3):
        put_by_all[grid](x, there, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def put_and_read_next_door(
    x: tw.Window["W", "G", "K"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    mate = (tw.rank(tw.lsa) + 1) % tw.world_size(tw.lsa)
    count = 0
    for n in range(rounds):
        for p in tw.ranks():
            tw.put(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        tw.barrier(team="rail" if BROKEN == "rail" else "world")
        if BROKEN == "rail":
            tw.barrier(team=tw.lsa)
        for r in tw.ranks():
            count += tw.sum(tw.load(x.at(mate, team=tw.lsa)[r, i, :]) != 100 * n + r)
        if BROKEN != "read":
            tw.barrier()
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def reads_next_door(comm, rounds, grid=1, broken="", K=33):
    """A team-mate reads behind a barrier what far ranks put into its neighbour."""
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    for _ in range(3):
        put_and_read_next_door[grid](x, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def get_from_all(
    x: tw.Window["G", "K"],
    got: tw.Window["W", "G", "K"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        tw.store(x[i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        tw.barrier()
        for r in tw.ranks():
            tw.get(got[r, i, :], x.at(r)[i, :])
        if BROKEN == "early":
            tw.barrier()
        if BROKEN != "flush":
            tw.flush()
        for r in tw.ranks():
            count += tw.sum(tw.load(got[r, i, :]) != 100 * n + r)
        if BROKEN != "early":
            tw.barrier()
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def gets_of_all_ranks(comm, rounds, grid=1, broken="", K=33):
    """A get is there behind a flush; who signals or meets before that has not read yet."""
    x, got = comm.window((grid, K), tw.i32), comm.window((comm.size, grid, K), tw.i32)
    wrong = zeros(comm, grid)
    for _ in range(3):
        get_from_all[grid](x, got, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)
