"""Kernels of a world of several ranks, on one GPU (`tw.init(virtual=, device="cuda")`)."""

from __future__ import annotations

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from norm import DTYPES, EPS, Problem, Repeats, allreduce_rmsnorm


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 8192), (64, 8192), (7, 5120), (33, 1000)], ids=str)
def test_against_float64(virtual, dtype, shape):
    problem = Problem(virtual.size, dtype, *shape)
    x = virtual.window(shape, getattr(tw, dtype))
    for rank, part in enumerate(problem.inputs):
        torch.from_dlpack(x.at(rank)).copy_(part)
    outputs = [problem.poisoned_output() for _ in range(virtual.size)]
    allreduce_rmsnorm[tw.auto](x, problem.gain, outputs, EPS)
    torch.cuda.synchronize()
    virtual.check()
    assert [problem.worst_error(y) <= 1 for y in outputs] == [True] * virtual.size
    # Every rank adds in the same order: same bits.
    assert all(torch.equal(outputs[0], y) for y in outputs)


def test_graphs_replay_a_thousand_times_between_eager_launches(virtual):
    shape = (16, 2048)
    problems = [Problem(virtual.size, "bf16", *shape, seed=seed) for seed in range(5)]
    x = virtual.window(shape, tw.bf16)
    gain = problems[0].gain.clone()
    y = torch.full((virtual.size, *shape), torch.nan, device="cuda", dtype=torch.bfloat16)
    outputs = list(y.unbind())
    allreduce_rmsnorm[tw.auto](x, gain, outputs, EPS)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        allreduce_rmsnorm[tw.auto](x, gain, outputs, EPS)
    for problem in problems:
        for rank, part in enumerate(problem.inputs):
            torch.from_dlpack(x.at(rank)).copy_(part)
        gain.copy_(problem.gain)
        check = Repeats(y, lambda y, problem=problem: max(map(problem.worst_error, y)) <= 1)
        for i in range(200):
            check(graph.replay)
            if i % 7 == 0:
                grid = 1 + i % 5
                check(lambda grid=grid: allreduce_rmsnorm[grid](x, gain, outputs, EPS))
        assert check.all_alike()


def test_the_largest_grid_is_named(virtual):
    x = virtual.window((4096, 512), tw.bf16)
    problem = Problem(virtual.size, "bf16", 4096, 512)
    outputs = [problem.poisoned_output() for _ in range(virtual.size)]
    if virtual.size == 1:
        pytest.skip("in a world of one this kernel waits for nobody")
    with pytest.raises(tw.UserError, match=r"the largest that fits this GPU is \d+"):
        allreduce_rmsnorm[100_000](x, problem.gain, outputs, EPS)
