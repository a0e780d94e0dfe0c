"""What goes over the network, between virtual ranks on one GPU whose teams a stand-in for NCCL's
joins (templates/tilewire/virtual_network.cuh). Graphs, signals that are used again, and lanes."""

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from litmus import NETWORK

WORLDS = ["2x2", "4x1", "2x3"]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NETWORK)
def test_litmus(name, world):
    run, _ = NETWORK[name]
    with tw.init(virtual=world, device="cuda") as comm:
        assert run(comm, 50) == 0
        assert run(comm, 20, grid=5) == 0


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("puts, then signals", "wait"),
        ("puts, then signals", "order"),
        ("gets of all ranks", "flush"),
    ],
)
def test_what_is_left_out_shows(name, broken):
    run, _ = NETWORK[name]
    with tw.init(virtual="2x2", device="cuda") as comm:
        assert run(comm, 200, broken=broken) > 0


@tw.kernel
def pass_on(
    x: tw.Tensor["N"],
    box: tw.Window["N"],
    there: tw.Semaphore[1],
    y: tw.Tensor["N"],
    *,
    N: tw.const,
):
    """y = x of the rank before, which may be out of reach."""
    after = (tw.rank() + 1) % tw.world_size()
    tw.barrier()
    tw.put(box.at(after)[:], tw.load(x[:]), signal=there.at(after)[0])
    tw.wait(there[0])
    tw.store(y[:], tw.load(box[:]))


class Ring:
    """Each rank's numbers, the objects that they go through, and what comes of them."""

    def __init__(self, comm, length=1000):
        self.comm = comm
        self.box, self.there = comm.window((length,), tw.f32), comm.semaphore((1,))
        self.xs = [torch.zeros(length, device="cuda") for _ in range(comm.size)]
        self.ys = [torch.zeros(length, device="cuda") for _ in range(comm.size)]

    def fill(self, n):
        for rank, x in enumerate(self.xs):
            x.copy_(torch.arange(x.numel(), device="cuda") + 1000 * rank + n)

    def launch(self):
        pass_on[1](self.xs, self.box, self.there, self.ys)

    def check(self):
        torch.cuda.synchronize()
        self.comm.check()
        for rank, y in enumerate(self.ys):
            assert torch.equal(y, self.xs[rank - 1]), rank


def test_graphs_replay():
    with tw.init(virtual="2x2", device="cuda") as comm:
        ring = Ring(comm)
        ring.fill(0)
        ring.launch()
        ring.check()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ring.launch()
            ring.launch()
        for n in range(50):
            ring.fill(n)
            graph.replay()
            if n % 7 == 0:
                ring.launch()
            ring.check()


@tw.kernel
def leave_signals(to: tw.i32, there: tw.Semaphore[1]):
    tw.signal(there.at(to)[0], 3)


def test_signals_are_used_again():
    """A semaphore that was freed with signals in it leaves none to the next one."""
    with tw.init(virtual="2x2", device="cuda") as comm:
        for n in range(20):
            ring = Ring(comm, 10 + n)
            ring.fill(n)
            ring.launch()
            ring.check()
            for rank in range(comm.size):
                leave_signals[1](rank, ring.there)
            comm.free(ring.there)
            comm.free(ring.box)


@tw.kernel
def tell(w: tw.Window[4], value: tw.i32):
    """Nothing waits for these: a kernel ends, and they may be under way."""
    for p in tw.ranks():
        tw.put_value(w.at(p)[tw.rank()], value + tw.rank())


def test_what_is_under_way_is_there_behind_a_barrier():
    """Also in front of what gives the memory to another window."""
    with tw.init(virtual="2x2", device="cuda") as comm:
        for n in range(10):
            w = comm.window((4,), tw.i32)
            tell[1](w, 10 * n)
            comm.barrier()
            for rank in range(comm.size):
                assert torch.from_dlpack(w.at(rank)).tolist() == [10 * n + r for r in range(4)]
            tell[1](w, -1)
            comm.free(w)
            other = comm.window((4,), tw.i32)  # where the last one was
            for rank in range(comm.size):
                torch.from_dlpack(other.at(rank)).fill_(n)
            comm.barrier()
            assert all((torch.from_dlpack(other.at(r)) == n).all() for r in range(comm.size))
            comm.free(other)
