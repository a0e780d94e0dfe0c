"""Puts and sums between virtual ranks on one GPU: bulk copies, words of every width, graphs."""

from __future__ import annotations

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from put_kernels import add_everywhere, put_and_read_back, put_strided, ring_of_puts

# Elements of i32: below, at and above what goes in bulk; whole words and not.
SIZES = [1, 7, 1000, 16384, 100_000, 100_003, 3_000_000]


def inputs(comm, size, salt=0):
    numbers = torch.arange(size, device="cuda", dtype=torch.int32)
    return [numbers * 3 + 1_000_003 * (rank + salt) for rank in range(comm.size)]


def poisoned(like):
    return [torch.full_like(each, -1) for each in like]


@pytest.mark.parametrize("size", SIZES)
def test_puts_arrive_before_their_signals(virtual, size):
    grid = min(64 // virtual.size, 8)
    w, sem = virtual.window((size,), tw.i32), virtual.semaphore(grid)
    for turn in range(20):
        x = inputs(virtual, size, turn)
        y = poisoned(x)
        ring_of_puts[grid](x, w, sem, y)
        torch.cuda.synchronize()
        for rank in range(virtual.size):
            assert torch.equal(y[rank], x[(rank - 1) % virtual.size])
    virtual.check()


@pytest.mark.parametrize("size", [100, 65536, 1_000_000])
def test_an_instance_reads_what_it_put(virtual, size):
    w = virtual.window((size,), tw.i32)
    for turn in range(10):
        x = inputs(virtual, size, turn)
        y = poisoned(x)
        put_and_read_back[4](x, w, y, B=1024)
        torch.cuda.synchronize()
        for rank in range(virtual.size):
            assert torch.equal(y[rank], 2 * x[rank])
            before = (rank - 1) % virtual.size
            assert torch.equal(torch.from_dlpack(w.at(rank)), 2 * x[before])


@pytest.mark.parametrize("shape", [(3, 5, 7), (16, 1, 64), (2, 300, 4096), (64, 64, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "float64"])
def test_any_strides(virtual, shape, dtype):
    torch_dtype = getattr(torch, dtype)
    names = {"uint8": tw.u8, "bfloat16": tw.bf16, "float32": tw.f32, "float64": tw.f64}
    a, b, c = shape
    w = virtual.window((c, b, a), names[dtype])
    x = [
        torch.randint(0, 100, shape, device="cuda").add_(rank).to(torch_dtype)
        for rank in range(virtual.size)
    ]
    y = [torch.full((a + 1, c), 101, device="cuda").to(torch_dtype) for _ in x]
    put_strided[2](x, w, y)
    torch.cuda.synchronize()
    for rank in range(virtual.size):
        before = (rank - 1) % virtual.size
        got = torch.from_dlpack(w.at(rank))
        assert torch.equal(got, x[before].permute(2, 1, 0))
        assert torch.equal(y[rank][1:], x[rank][:, 0, :])
        assert (y[rank][0] == 101).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(4, 64), (5, 37), (16, 2048), (3, 1)], ids=str)
def test_all_additions_count(virtual, shape, dtype):
    names = {
        "bfloat16": tw.bf16, "float16": tw.f16, "float32": tw.f32, "float64": tw.f64,
        "int32": tw.i32, "int64": tw.i64,
    }  # fmt: skip
    w = virtual.window(shape, names[dtype])
    torch_dtype = getattr(torch, dtype)
    x = [torch.randint(0, 4, shape, device="cuda").to(torch_dtype) for _ in range(virtual.size)]
    total = [torch.full_like(each, -1) for each in x]
    for rank in range(virtual.size):
        torch.from_dlpack(w.at(rank)).fill_(1)
    torch.cuda.synchronize()
    add_everywhere[min(3, 64 // virtual.size)](x, w, total)
    torch.cuda.synchronize()
    expected = 1 + 2 * sum(each.double() for each in x)
    for rank in range(virtual.size):
        assert torch.equal(torch.from_dlpack(w.at(rank)).double(), expected)
        assert torch.equal(total[rank], (expected * virtual.size).to(torch_dtype))


def test_graphs_replay(virtual):
    size, grid = 200_000, min(32 // virtual.size, 4)
    w, sem = virtual.window((size,), tw.i32), virtual.semaphore(grid)
    x = inputs(virtual, size)
    y = poisoned(x)
    ring_of_puts[grid](x, w, sem, y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ring_of_puts[grid](x, w, sem, y)
    wrong = 0
    for turn in range(200):
        for each in x:
            each.add_(turn)
        for each in y:
            each.fill_(-1)
        graph.replay()
        wrong += sum(
            int((y[rank] != x[(rank - 1) % virtual.size]).sum()) for rank in range(virtual.size)
        )
    assert wrong == 0
