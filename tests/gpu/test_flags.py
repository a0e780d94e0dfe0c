"""Flags, rotating windows and fills on one GPU, with virtual ranks: launches and graph replay."""

from __future__ import annotations

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import flag_kernels as kernels
import tilewire as tw
from tilewire.objects import flag_request, window_request

T, H = 33, 512


def inputs(size, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return [torch.randn(T, H, device="cuda", generator=generator) for _ in range(size)]


def outputs(size):
    return [torch.full((T, H), torch.nan, device="cuda") for _ in range(size)]


def is_sum(y, x):
    expected = sum(each.double() for each in x)
    return all(torch.allclose(each.double(), expected, rtol=1e-5, atol=1e-5) for each in y)


def objects(comm, rotate):
    w = comm.window((comm.size, T, H), tw.f32, rotate=rotate)
    return w, comm.flag((comm.size, T))


@pytest.mark.parametrize("rotate", [None, 2, 3])
def test_launches_in_a_row(virtual, rotate):
    kernel = kernels.push_rows if rotate is None else kernels.push_rows_rotating
    w, ready = objects(virtual, rotate)
    made = [(inputs(virtual.size, seed), outputs(virtual.size)) for seed in range(40)]
    for i, (x, y) in enumerate(made):
        kernel[tw.auto if i % 3 else 1 + i % 7](x, w, y, ready)
    torch.cuda.synchronize()
    virtual.check()
    assert all(is_sum(y, x) for x, y in made)


@pytest.mark.parametrize("rotate", [None, 2])
def test_graphs_replay_between_eager_launches(virtual, rotate):
    kernel = kernels.push_rows if rotate is None else kernels.push_rows_rotating
    w, ready = objects(virtual, rotate)
    x, y = inputs(virtual.size, 0), outputs(virtual.size)
    kernel[4](x, w, y, ready)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            kernel[4](x, w, y, ready)
    for i in range(60):
        for each, new in zip(x, inputs(virtual.size, i + 1), strict=True):
            each.copy_(new)
        for each in y:
            each.fill_(torch.nan)
        if i % 4 == 0:
            kernel[1 + i % 6](x, w, y, ready)
        else:
            graph.replay()
        torch.cuda.synchronize()
        assert is_sum(y, x)
    virtual.check()


def test_numbers_of_launches_may_be_large(virtual):
    start = 2**32 - 5
    w = virtual._make(window_request(virtual.size, (virtual.size, T, H), tw.f32, 3, start=start))
    ready = virtual._make(flag_request(virtual.size, (virtual.size, T), start=start))
    for seed in range(12):
        x, y = inputs(virtual.size, seed), outputs(virtual.size)
        kernels.push_rows_rotating[5](x, w, y, ready)
        torch.cuda.synchronize()
        assert is_sum(y, x)


def test_every_way_out_leaves_the_launch(virtual):
    ready = virtual.flag((virtual.size, 4))
    for launch in range(30):
        limit = launch % 5
        x = [torch.full((4,), 10.0 * r + launch, device="cuda") for r in range(virtual.size)]
        y = [torch.full((4,), torch.nan, device="cuda") for _ in range(virtual.size)]
        kernels.leave_early[6](limit, x, y, ready)
        torch.cuda.synchronize()
        for mine, each in zip(x, y, strict=True):
            assert (each[:limit] == mine[:limit] + 1).all() and each[limit:].isnan().all()


def test_fills_belong_to_launches(virtual):
    size, n = virtual.size, 4096
    shard, full = virtual.window((n,), tw.f32), virtual.window((size, n), tw.f32)
    ready = virtual.flag(size)

    def step(y):
        with ready.fill() as fill:
            for r in range(size):
                virtual.copy(full[r], shard.at(r), then=fill[r])
        kernels.gather_filled[tw.auto](full, y, ready)

    def refill(launch):
        for r in range(size):
            torch.from_dlpack(shard.at(r)).fill_(100.0 * launch + r)

    def is_right(y, launch):
        expected = 100.0 * launch + torch.arange(size, device="cuda")[:, None].expand(size, n)
        return all(torch.equal(each, expected) for each in y)

    y = [torch.full((size, n), torch.nan, device="cuda") for _ in range(size)]
    for launch in range(5):
        refill(launch)
        step(y)
        torch.cuda.synchronize()
        assert is_right(y, launch)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(y)
    for launch in range(5, 40):
        refill(launch)
        step(y) if launch % 5 == 0 else graph.replay()
        torch.cuda.synchronize()
        assert is_right(y, launch)


def test_a_filled_flag_is_not_set(virtual):
    ready = virtual.flag(4)
    y = [torch.zeros(4, device="cuda") for _ in range(virtual.size)]
    kernels.count_to_three[5](y, ready)
    with ready.fill():
        pass
    with pytest.raises(tw.UserError, match="is filled by copies"):
        kernels.count_to_three[5](y, ready)
