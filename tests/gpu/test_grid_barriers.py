"""Barriers of all program instances, of virtual ranks on one GPU: thousands of them, in graphs."""

from __future__ import annotations

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from grid_barrier_kernels import reverse_often, rotate

ROUNDS = 50


def test_all_instances_of_all_ranks_meet(virtual):
    largest = 128 // virtual.size
    w = virtual.window((largest,), tw.i32)
    wrong = [torch.zeros(largest, device="cuda", dtype=torch.int32) for _ in range(virtual.size)]
    for grid in (1, largest, 7, largest - 1, 2) * 5:
        rotate[grid](w, wrong, R=ROUNDS)
    virtual.synchronize()
    assert not any(each.any() for each in wrong)


def test_all_instances_of_one_rank_meet(virtual):
    size = 1000
    start = torch.arange(size, device="cuda", dtype=torch.int32)
    xs = [start + rank for rank in range(virtual.size)]
    ys = [torch.zeros_like(start) for _ in xs]
    grids = (1, 128 // virtual.size, 3, 8) * 5
    for grid in grids:
        reverse_often[grid](xs, ys, R=ROUNDS)
    virtual.synchronize()
    for rank, each in enumerate(xs):
        assert torch.equal(each, start + rank + len(grids) * ROUNDS)


def test_graphs_replay(virtual):
    largest = 64 // virtual.size
    w = virtual.window((largest,), tw.i32)
    wrong = [torch.zeros(largest, device="cuda", dtype=torch.int32) for _ in range(virtual.size)]
    rotate[largest](w, wrong, R=3)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rotate[largest](w, wrong, R=3)
        rotate[2](w, wrong, R=3)
    for i in range(1000):
        graph.replay()
        if i % 7 == 0:
            rotate[1 + i % largest](w, wrong, R=3)
    virtual.synchronize()
    assert not any(each.any() for each in wrong)
