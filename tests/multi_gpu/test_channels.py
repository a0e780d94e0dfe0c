"""Channels between GPUs: results, graph replay, ranks that are late."""

# ruff: noqa: E402

import random as python_random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw
from channel_kernels import all_reduce, all_reduce_by_block, pass_on, pass_on_in_turn

CARRYINGS = {
    "tagged": {"exchange": True, "signed_zero": True},
    "reserved": {"exchange": True, "signed_zero": False},
}


def random(size, shape, seed):
    """Every rank's array: small integers, so that sums are right in any order."""
    generator = torch.Generator("cuda").manual_seed(seed)
    kind = {"device": "cuda", "generator": generator}
    return [torch.randint(-8, 8, shape, **kind).to(torch.bfloat16) for _ in range(size)]


@pytest.mark.parametrize("carrying", CARRYINGS)
@pytest.mark.parametrize("block", [512, 2048, 16384])
def test_all_reduce(comm, carrying, block):
    ch = comm.channel((comm.size, 128), tile=(block,), dtype=tw.bf16, **CARRYINGS[carrying])
    wrong = []
    for n in (1, block, 7 * block - 1, 128 * block):
        for kernel in (all_reduce, all_reduce_by_block):
            if block > 2048 and kernel is all_reduce_by_block:
                continue
            inputs = random(comm.size, (n,), n)
            y = torch.full_like(inputs[0], torch.nan)
            for grid in (1, 5, 128):
                kernel[grid](inputs[comm.rank], y, ch, B=block)
                comm.synchronize()
                if not torch.equal(y.double(), sum(x.double() for x in inputs)):
                    wrong.append((n, grid, kernel.name))
    comm.barrier()
    comm.free(ch)
    assert not wrong


@pytest.mark.parametrize("carrying", CARRYINGS)
def test_replays_and_eager_launches_with_late_ranks(comm, carrying):
    block, grid, n = 512, 8, 4096
    ch = comm.channel((comm.size, grid), tile=(block,), dtype=tw.bf16, **CARRYINGS[carrying])
    x, y = (
        random(comm.size, (n,), 0)[comm.rank],
        torch.empty(n, device="cuda", dtype=torch.bfloat16),
    )
    all_reduce[grid](x, y, ch, B=block)
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            all_reduce[grid](x, y, ch, B=block)
    late = python_random.Random(comm.rank)
    differs = torch.zeros((), device="cuda", dtype=torch.bool)
    for seed in range(200):
        inputs = random(comm.size, (n,), seed)
        expected = sum(each.double() for each in inputs)
        x.copy_(inputs[comm.rank])
        y.fill_(torch.nan)
        if late.random() < 0.3:
            torch.cuda._sleep(late.randrange(200_000))
        if seed % 3 == 0:
            all_reduce[1 + seed % 7](x, y, ch, B=block)
        graph.replay()
        differs |= (y.double() != expected).any()
    comm.synchronize()
    comm.barrier()
    comm.free(ch)
    assert not bool(differs)


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("kernel", [pass_on, pass_on_in_turn], ids=lambda kernel: kernel.name)
def test_a_ring(comm, kernel, depth):
    ch = comm.channel((2,), tile=(1000,), dtype=tw.bf16, depth=depth)
    equal = True
    for seed in range(10):
        x = random(comm.size, (20, 1000), seed)[comm.rank]
        y = torch.full_like(x, torch.nan)
        kernel[1](x, y, ch)
        comm.synchronize()
        equal &= torch.equal(x, y)
    comm.barrier()
    comm.free(ch)
    assert equal
