"""A million launches of an all-reduce over channels, eager and replayed, with one rank late at
random: every sum is right, and every launch is counted."""

import os
import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw  # noqa: E402
from counted_kernels import counted_all_reduce  # noqa: E402

LAUNCHES = int(os.environ.get("TILEWIRE_TEST_LAUNCHES", "1000000")) // 4  # of each of four cases
PER_GRAPH = 100
CYCLES = 200_000  # about 0.1 ms: some fifty launches


@pytest.mark.parametrize("signed_zero", [False, True], ids=["reserved", "tagged"])
@pytest.mark.parametrize("grid", [1, 8])
def test_every_launch_is_right(comm, grid, signed_zero):
    B = 512
    ch = comm.channel(
        (comm.size, grid), tile=(B,), dtype=tw.f32, exchange=True, signed_zero=signed_zero
    )
    launches = torch.zeros(grid, dtype=torch.int32, device="cuda")
    wrong = torch.zeros(grid, dtype=torch.int32, device="cuda")

    def launch():
        counted_all_reduce[grid](launches, wrong, ch, 5, B=B)

    launch()  # compiled and agreed before the capture
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(PER_GRAPH):
            launch()
    made = 1
    late = random.Random(grid)  # the same on all ranks: who is late, and when
    while made < LAUNCHES:
        rank, cycles, is_late = late.randrange(comm.size), late.randrange(CYCLES), late.random()
        if rank == comm.rank and is_late < 0.3:
            torch.cuda._sleep(cycles)
        if late.random() < 0.1:
            for _ in range(3):
                launch()
            made += 3
        graph.replay()
        made += PER_GRAPH
    comm.synchronize()
    comm.barrier()
    assert launches.tolist() == [made] * grid
    assert wrong.tolist() == [0] * grid
