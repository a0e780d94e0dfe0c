"""Programs that count what a broken order would show, on CPU worlds and on GPUs alike.

Each is a function of a communicator (one rank of it) that returns how many wrong values this rank
saw; `rounds` are made inside of the kernel. `broken` names what is left out, which must be seen.
"""

from typing import Any

import numpy as np
import tilewire as tw
from tilewire import objects


def zeros(comm: tw.Communicator, shape: Any, dtype: str = "int32") -> Any:
    """An array where kernels of `comm` run."""
    if not comm.target.is_cuda:
        return np.zeros(shape, dtype)
    import torch

    return torch.zeros(shape, dtype=getattr(torch, dtype), device=comm.device)


def make(comm: tw.Communicator, kind: str, *arguments: Any, start: int = 0) -> Any:
    """Semaphores or channels; `start`: how far their counters have come already."""
    request = {"semaphore": objects.semaphore_request, "channel": objects.channel_request}[kind]
    first = (comm.size,) if kind == "channel" else ()
    return comm._make(request(*first, *arguments, start=start))


def total(comm: tw.Communicator, counts: Any) -> int:
    """The sum of a kernel's counts, once it has ended."""
    if comm.target.is_cuda:
        comm.synchronize()
    return int(counts.sum())


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


def repeat(comm: tw.Communicator, launch: Any, times: int) -> None:
    """On GPUs, mostly from a graph."""
    if not comm.target.is_cuda or times < 200:
        for _ in range(times):
            launch()
        return
    import torch

    for _ in range(3):
        launch()
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            launch()
    for n in range(times // 100):
        graph.replay()
        if n % 7 == 0:
            launch()


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


# Name → the function, and what can be left out of it.
LITMUS = {
    "message passing by barriers": (message_passing_by_barriers, ["written", "read"]),
    "store buffering with barriers": (store_buffering_with_barriers, ["written", "read"]),
    "message passing by grid barriers": (message_passing_by_grid_barriers, ["scope", "read"]),
    "message passing by local barriers": (message_passing_by_local_barriers, ["written", "read"]),
    "message passing by semaphores": (message_passing_by_semaphores, ["order", "wait", "credit"]),
    "message passing by puts": (message_passing_by_puts, ["order", "wait"]),
    "copies that signal": (copies_that_signal, ["wait", "credit"]),
    "additions of all ranks": (additions_of_all_ranks, ["written", "read"]),
    "two lanes at once": (two_lanes_at_once, ["written", "read"]),
    "messages of channels": (messages_of_channels, ["send"]),
    "exchanges with tags": (exchanges_with_tags, ["exchange"]),
    "exchanges with a reserved value": (exchanges_with_a_reserved_value, ["exchange"]),
    "flags over launches": (flags_over_launches, ["order", "wait", "closing barrier"]),
    "flags over rotating windows": (flags_over_rotating_windows, ["order", "wait"]),
    "ring with credits": (ring_with_credits, ["wait", "credit"]),
}

# Those whose counters can start anywhere.
COUNTED = [
    "message passing by semaphores",
    "messages of channels",
    "exchanges with tags",
    "exchanges with a reserved value",
]
