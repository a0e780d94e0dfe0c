"""Semaphores of virtual ranks on one GPU: litmus programs, one-sided launches, streams, graphs."""

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from tilewire import objects

ROUNDS = 200


@tw.kernel
def exchange_sums(
    x: tw.Tensor["T", "N"],
    inbox: tw.Window["W", "G", "N"],
    full: tw.Semaphore["W", "G"],
    free: tw.Semaphore["W", "G"],
    y: tw.Tensor["T", "N"],
    *,
    N: tw.const,
):
    """y = the sum of all ranks' x, row by row, through one row's room per rank and instance."""
    me, i = tw.rank(), tw.program_id(0)
    for row in tw.persistent(T):
        tw.wait(free[:, i])
        mine = tw.load(x[row, :])
        for r in tw.ranks():
            tw.store(inbox.at(r)[me, i, :], mine)
            tw.signal(full.at(r)[me, i])
        tw.wait(full[:, i])
        acc = tw.zeros((N,), tw.f32)
        for r in tw.ranks():
            acc += tw.load(inbox[r, i, :])
        tw.store(y[row, :], acc)
        for r in tw.ranks():
            tw.signal(free.at(r)[me, i])


class Sums:
    """Inputs by rank, what must come out, and the objects that the kernel takes."""

    def __init__(self, comm, grid, rows=64, columns=1000, start=0):
        size = comm.size
        self.grid = grid
        self.inbox = comm.window((size, grid, columns), tw.f32)
        self.full = comm._make(objects.semaphore_request((size, grid), 0, start))
        self.free = comm._make(objects.semaphore_request((size, grid), 1, start))
        make = torch.Generator("cuda").manual_seed(grid)
        self.xs = [
            torch.randint(-999, 999, (rows, columns), generator=make, device="cuda").float()
            for _ in range(size)
        ]
        self.ys = [torch.full_like(x, torch.nan) for x in self.xs]

    def launch(self):
        exchange_sums[self.grid](self.xs, self.inbox, self.full, self.free, self.ys)

    def check(self):
        expected = sum(self.xs)
        for y in self.ys:
            assert torch.equal(y, expected)
            y.fill_(torch.nan)


@pytest.mark.parametrize("start", [0, 2**32 - 100, 2**31 - 50])
def test_sums_behind_semaphores(virtual, start):
    sums = Sums(virtual, max(1, 32 // virtual.size), start=start)
    for _ in range(ROUNDS):
        sums.launch()
        sums.check()
    virtual.check()


def test_graphs_replay(virtual):
    sums = Sums(virtual, 4)
    sums.launch()
    torch.cuda.synchronize()
    sums.check()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        sums.launch()
        sums.launch()
    for turn in range(ROUNDS):
        for x in sums.xs:
            x.add_(turn)
        graph.replay()
        sums.check()
        sums.launch()
        sums.check()
    virtual.check()


@tw.kernel
def send_one(
    x: tw.Tensor["N"], inbox: tw.Window["N"], full: tw.Semaphore, to: tw.i32, *, N: tw.const
):
    tw.store(inbox.at(to)[:], tw.load(x[:]))
    tw.signal(full.at(to)[0], 2)


@tw.kernel
def receive_one(inbox: tw.Window["N"], full: tw.Semaphore, y: tw.Tensor["N"], *, N: tw.const):
    tw.wait(full[0], 2)
    tw.store(y[:], tw.load(inbox[:]))


def test_one_sided_launches_on_some_ranks(virtual):
    sender, receiver = 0, virtual.size - 1
    inbox, full = virtual.window((512,), tw.f32), virtual.semaphore(1)
    x = torch.zeros(512, device="cuda")
    y = torch.full_like(x, torch.nan)
    on = lambda rank, value: [value if r == rank else None for r in range(virtual.size)]  # noqa: E731
    for turn in range(50):
        x.fill_(turn)
        send_one[1](on(sender, x), inbox, full, receiver)
        receive_one[1](inbox, full, on(receiver, y))
        assert (y == turn).all()


def test_a_stream_waits_for_another_one(comm):
    """The first stream is held back until a kernel on the second one, launched later, signals."""
    inbox, full = comm.window((512,), tw.f32), comm.semaphore((2, 3))
    x = torch.full((512,), 7.0, device="cuda")
    torch.from_dlpack(inbox).zero_()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    y = torch.full_like(x, torch.nan)
    send_two = store_and_signal.on(stream=second)
    send_two[1](x, inbox, full)  # compiles and loads
    comm.stream_wait(full[1, 2], 2, stream=first)
    torch.cuda.synchronize()
    torch.from_dlpack(inbox).zero_()
    torch.cuda.synchronize()
    comm.stream_wait(full[1, 2], 2, stream=first)
    with torch.cuda.stream(first):
        y.copy_(torch.from_dlpack(inbox))
    send_two[1](x, inbox, full)
    torch.cuda.synchronize()
    assert (y == 7).all()


@tw.kernel
def store_and_signal(x: tw.Tensor["N"], inbox: tw.Window["N"], full: tw.Semaphore, *, N: tw.const):
    tw.store(inbox[:], tw.load(x[:]))
    tw.signal(full[1, 2], 2)


@tw.kernel
def signal_far(sem: tw.Semaphore, i: tw.i64):
    tw.signal(sem[i])
    tw.signal(sem[1])


@pytest.mark.parametrize("index", [-1, 4, 2**40])
def test_an_index_outside_touches_nothing(virtual, index):
    sem = virtual.semaphore(4)
    signal_far[1](sem, index)
    virtual.stream_wait(sem[1])
    virtual.synchronize()
