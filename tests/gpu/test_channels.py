"""Channels between virtual ranks on one GPU: exchanges and queues, over launches of several kernels
and replays of graphs."""

from __future__ import annotations

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from channel_kernels import (
    all_reduce,
    all_reduce_by_block,
    gather,
    gather_twice,
    pass_on,
    pass_on_in_turn,
)
from tilewire.objects import channel_request

CARRYINGS = {
    "tagged": {"exchange": True, "signed_zero": True},
    "reserved": {"exchange": True, "signed_zero": False},
}
B = 256


def used_channel(comm, shape, tile, dtype, depth=1, exchange=False, signed_zero=True, start=0):
    """As `comm.channel`, of which `start` messages have gone through each slot."""
    request = channel_request(
        comm.size, shape, tile, dtype, depth, exchange, signed_zero, start=start
    )
    return comm._make(request)


def random(comm, shape, dtype, seed=0):
    """Every rank's array: small integers, so that sums are right in any order."""
    generator = torch.Generator("cuda").manual_seed(seed)
    kind = {"device": "cuda", "generator": generator}
    return [torch.randint(-8, 8, shape, **kind).to(dtype) for _ in range(comm.size)]


def poisoned(inputs, shape=None):
    shape = inputs[0].shape if shape is None else shape
    return [torch.full(shape, torch.nan, device="cuda", dtype=x.dtype) for x in inputs]


@pytest.mark.parametrize("start", [0, 2**32 - 5])
@pytest.mark.parametrize("dtype", ["bf16", "f32", "f64", "f16"])
@pytest.mark.parametrize("carrying", CARRYINGS)
def test_all_reduce(virtual, carrying, dtype, start):
    torch_dtype = {"bf16": torch.bfloat16, "f32": torch.float32}.get(dtype)
    torch_dtype = torch_dtype or {"f64": torch.float64, "f16": torch.float16}[dtype]
    ch = used_channel(
        virtual, (virtual.size, 8), (B,), getattr(tw, dtype), start=start, **CARRYINGS[carrying]
    )
    for n in (B, 5 * B, 8 * B - 3, 1, 8 * B):
        for grid in (1, 3, 8):
            inputs = random(virtual, (n,), torch_dtype, seed=n + grid)
            for kernel in (all_reduce, all_reduce_by_block):
                outputs = poisoned(inputs)
                kernel[grid](inputs, outputs, ch, B=B)
                torch.cuda.synchronize()
                virtual.check()
                expected = sum(x.double() for x in inputs)
                assert all(torch.equal(y.double(), expected) for y in outputs), (n, grid, kernel)


@pytest.mark.parametrize("carrying", CARRYINGS)
def test_two_statements_of_a_slot(virtual, carrying):
    ch = virtual.channel((virtual.size, 1), tile=(B,), dtype=tw.f32, **CARRYINGS[carrying])
    for seed in range(20):
        inputs = random(virtual, (B,), torch.float32, seed)
        outputs = poisoned(inputs, (2, virtual.size, B))
        gather_twice[1](inputs, outputs, ch)
        torch.cuda.synchronize()
        first = torch.stack(inputs)
        for y in outputs:
            assert torch.equal(y[0], first)
            assert torch.equal(y[1], first + first[-1])


@pytest.mark.parametrize("tile", [3, 64, 1000])
@pytest.mark.parametrize("dtype", ["bf16", "u8", "i64"])
def test_all_bits(virtual, dtype, tile):
    """Of the tagged carrying."""
    kinds = {"bf16": (torch.bfloat16, 2), "u8": (torch.uint8, 1), "i64": (torch.int64, 8)}
    torch_dtype, width = kinds[dtype]
    ch = virtual.channel((virtual.size, 1), tile=(tile,), dtype=getattr(tw, dtype), exchange=True)
    generator = torch.Generator("cuda").manual_seed(tile)
    for _ in range(5):
        sent = [
            torch.randint(0, 256, (tile * width,), device="cuda", generator=generator)
            .to(torch.uint8)
            .view(torch_dtype)
            for _ in range(virtual.size)
        ]
        found = [torch.zeros(virtual.size, tile, device="cuda", dtype=torch_dtype) for _ in sent]
        gather[1](sent, found, ch)
        torch.cuda.synchronize()
        for y in found:
            assert torch.equal(y.view(torch.uint8), torch.stack(sent).view(torch.uint8))


@pytest.mark.parametrize("start", [0, 2**32 - 3])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("kernel", [pass_on, pass_on_in_turn], ids=lambda kernel: kernel.name)
def test_a_ring(virtual, kernel, depth, start):
    ch = used_channel(virtual, (2,), (40,), tw.bf16, depth, start=start)
    for seed in range(5):
        inputs = random(virtual, (7, 40), torch.bfloat16, seed)
        outputs = poisoned(inputs)
        kernel[1](inputs, outputs, ch)
        torch.cuda.synchronize()
        virtual.check()
        assert all(torch.equal(x, y) for x, y in zip(inputs, outputs, strict=True))


@pytest.mark.parametrize("carrying", CARRYINGS)
def test_graphs_replay_between_eager_launches(virtual, carrying):
    ch = virtual.channel((virtual.size, 8), tile=(B,), dtype=tw.bf16, **CARRYINGS[carrying])
    n = 8 * B
    inputs = random(virtual, (n,), torch.bfloat16)
    outputs = poisoned(inputs)
    all_reduce[8](inputs, outputs, ch, B=B)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        all_reduce[8](inputs, outputs, ch, B=B)
        all_reduce[3](inputs, outputs, ch, B=B)
    for seed in range(5):
        for x, new in zip(inputs, random(virtual, (n,), torch.bfloat16, seed), strict=True):
            x.copy_(new)
        expected = sum(x.double() for x in inputs)
        differs = torch.zeros((), device="cuda", dtype=torch.bool)
        for i in range(100):
            for y in outputs:
                y.fill_(torch.nan)
            if i % 7 == 0:
                all_reduce[1 + i % 5](inputs, outputs, ch, B=B)
            graph.replay()
            for y in outputs:
                differs |= (y.double() != expected).any()
        assert not bool(differs)
        virtual.check()
