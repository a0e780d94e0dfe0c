"""Barriers, additions that they complete, and lanes that have their own."""

import tilewire as tw

from litmus.arrays import total, zeros


@tw.kernel
def messages(
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
            tw.store(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        if BROKEN != "written":
            tw.barrier()
        for r in tw.ranks():
            count += tw.sum(tw.load(x[r, i, :]) != 100 * n + r)
        if BROKEN != "read":
            tw.barrier()
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def message_passing_by_barriers(comm, rounds, grid=1, broken="", K=33):
    """Everybody stores at everybody; a barrier; all is there. Another; the next round may store."""
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    for _ in range(3):  # phases go on from launch to launch
        messages[grid](x, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def buffers(
    x: tw.Window["G", "K"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        tw.store(x[i, :], tw.full((K,), n, tw.i32))
        if BROKEN != "written":
            tw.barrier()
        for p in tw.peers():
            count += tw.sum(tw.load(x.at(p)[i, :]) != n)
        if BROKEN != "read":
            tw.barrier()
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def store_buffering_with_barriers(comm, rounds, grid=1, broken="", K=33):
    """Everybody stores at home, and then reads all others: nobody may see what was there before."""
    x, wrong = comm.window((grid, K), tw.i32), zeros(comm, grid)
    for _ in range(3):
        buffers[grid](x, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def messages_to_neighbours(
    x: tw.Window["W", "G", "K"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    neighbour = (i + 1) % tw.num_programs(0)
    count = 0
    for n in range(rounds):
        for p in tw.ranks():
            tw.store(x.at(p)[tw.rank(), i, :], tw.full((K,), 100 * n + tw.rank(), tw.i32))
        tw.barrier(scope="instance" if BROKEN == "scope" else "grid")
        for r in tw.ranks():
            count += tw.sum(tw.load(x[r, neighbour, :]) != 100 * n + r)
        if BROKEN != "read":
            tw.barrier(scope="grid")
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def message_passing_by_grid_barriers(comm, rounds, grid=3, broken="", K=33):
    """What an instance stored at all ranks is there for another one behind a grid's barrier."""
    x, wrong = comm.window((comm.size, grid, K), tw.i32), zeros(comm, grid)
    for _ in range(3):
        messages_to_neighbours[grid](x, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def messages_at_home(
    x: tw.Tensor["G", "K"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    for n in range(rounds):
        tw.store(x[i, :], tw.full((K,), n, tw.i32))
        if BROKEN != "written":
            tw.barrier(team=tw.local, scope="grid")
        count += tw.sum(tw.load(x[(i + 1) % tw.num_programs(0), :]) != n)
        if BROKEN != "read":
            tw.barrier(team=tw.local, scope="grid")
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def message_passing_by_local_barriers(comm, rounds, grid=3, broken="", K=33):
    """The same within a rank, through a tensor."""
    x, wrong = zeros(comm, (grid, K)), zeros(comm, grid)
    for _ in range(3):
        messages_at_home[grid](x, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


@tw.kernel
def additions(
    x: tw.Window["G", "K"],
    wrong: tw.Tensor["G"],
    rounds: tw.i32,
    *,
    K: tw.const,
    BROKEN: tw.const,
):
    i = tw.program_id(0)
    count = 0
    before = tw.load(x[i, :])
    tw.barrier()
    for n in range(rounds):
        for p in tw.ranks():
            tw.add(x.at(p)[i, :], tw.full((K,), 1 + tw.rank(), tw.i32))
        if BROKEN != "written":
            tw.barrier()
        each = tw.world_size() * (tw.world_size() + 1) // 2
        count += tw.sum(tw.load(x[i, :]) != before + each * (n + 1))
        if BROKEN != "read":
            tw.barrier()
    tw.store(wrong[i], tw.load(wrong[i]) + count)


def additions_of_all_ranks(comm, rounds, grid=1, broken="", K=33):
    """None of what all ranks add at once is lost."""
    x, wrong = comm.window((grid, K), tw.i32), zeros(comm, grid)
    if comm.target.is_cuda:
        import torch

        torch.from_dlpack(x).zero_()
        comm.barrier()
    for _ in range(3):
        additions[grid](x, wrong, rounds, BROKEN=broken)
    return total(comm, wrong)


def two_lanes_at_once(comm, rounds, grid=1, broken="", K=33):
    """Two kernels that know nothing of each other, on GPUs side by side."""
    grid = min(grid, 32)
    lanes = [comm.lane(number, sms=32) for number in (11, 12)]
    windows = [lane.window((comm.size, grid, K), tw.i32) for lane in lanes]
    wrong = [zeros(comm, grid) for _ in lanes]
    streams = [None, None]
    if comm.target.is_cuda:
        import torch

        streams = [torch.cuda.Stream() for _ in lanes]
        torch.cuda.synchronize()
    for _ in range(3):
        for stream, x, count in zip(streams, windows, wrong, strict=True):
            messages.on(stream=stream)[grid](x, count, rounds, BROKEN=broken)
    return sum(total(comm, count) for count in wrong)
