"""Lanes between virtual ranks on one GPU, from Python."""

from __future__ import annotations

# ruff: noqa: E402
import gc

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from norm import EPS, Problem, allreduce_rmsnorm


def load(window, problem):
    for rank, part in enumerate(problem.inputs):
        torch.from_dlpack(window.at(rank)).copy_(part)
    return window


@pytest.fixture
def pair():
    with tw.init(virtual="2", device="cuda") as comm:
        yield comm


def test_two_lanes_on_two_streams(pair):
    shape = (64, 2048)
    problems = [Problem(2, "bf16", *shape, seed=seed) for seed in range(2)]
    lanes = [pair.lane(0), pair.lane(1, sms=16)]
    windows = [
        load(lane.window(shape, tw.bf16), p) for lane, p in zip(lanes, problems, strict=True)
    ]
    outputs = [[p.poisoned_output() for _ in range(2)] for p in problems]
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    for i in range(200):
        for k in range(2):
            with torch.cuda.stream(streams[k]):
                allreduce_rmsnorm[1 + i % 8](windows[k], problems[k].gain, outputs[k], EPS)
    pair.synchronize()
    for problem, results in zip(problems, outputs, strict=True):
        assert max(map(problem.worst_error, results)) <= 1


def test_one_lane_on_two_streams_takes_turns(pair):
    shape = (64, 2048)
    problem = Problem(2, "bf16", *shape)
    x = load(pair.window(shape, tw.bf16), problem)
    outputs = [[problem.poisoned_output() for _ in range(2)] for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    for i in range(200):
        with torch.cuda.stream(streams[i % 2]):
            allreduce_rmsnorm[tw.auto](x, problem.gain, outputs[i % 2], EPS)
    pair.synchronize()
    assert max(problem.worst_error(y) for each in outputs for y in each) <= 1


def test_graphs_on_two_streams_of_one_capture(pair):
    shape = (16, 2048)
    problem = Problem(2, "bf16", *shape)
    x = load(pair.window(shape, tw.bf16), problem)
    y = [problem.poisoned_output() for _ in range(2)]
    z = [problem.poisoned_output() for _ in range(2)]
    allreduce_rmsnorm[4](x, problem.gain, y, EPS)
    pair.synchronize()
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        allreduce_rmsnorm[4](x, problem.gain, y, EPS)
        with torch.cuda.stream(side):
            allreduce_rmsnorm[4](x, problem.gain, z, EPS)
        main.wait_stream(side)
    for each in (*y, *z):
        each.fill_(torch.nan)
    for _ in range(100):
        graph.replay()
    torch.cuda.synchronize()
    pair.check()
    assert max(map(problem.worst_error, [*y, *z])) <= 1


def test_creation_is_refused_inside_capture(pair):
    x = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    told = []
    with torch.cuda.graph(graph):
        x += 1
        for call in (
            lambda: pair.lane(1),
            lambda: pair.window(4, tw.f32),
            lambda: pair.semaphore(4),
            lambda: pair.lane(0).flag(4),
            lambda: pair.reserve(1 << 20),
            pair.trim,
        ):
            try:
                call()
            except tw.UserError as error:
                told.append(str(error))
    assert len(told) == 6
    assert all("capture" in each for each in told)


def test_lanes_need_streams(pair):
    for number in (1, 2, 3):
        pair.lane(number)
    with pytest.raises(tw.UserError, match="with 5 lanes need 10 streams"):
        pair.lane(4)


def test_abort_lets_the_next_communicator_work():
    comm = tw.init(virtual="2", device="cuda")
    problem = Problem(2, "bf16", 8, 1024)
    x = load(comm.window((8, 1024), tw.bf16), problem)
    outputs = [problem.poisoned_output() for _ in range(2)]
    with tw.init(virtual="2", device="cuda") as other:
        z = load(other.window((8, 1024), tw.bf16), problem)
        comm._world.leave_out([1])
        allreduce_rmsnorm[2](x, problem.gain, outputs, EPS)
        comm.abort()
        with pytest.raises(tw.UserError, match="was aborted"):
            allreduce_rmsnorm[2](x, problem.gain, outputs, EPS)
        comm.close()
        # Another communicator is left alone, and so is a new one.
        allreduce_rmsnorm[2](z, problem.gain, outputs, EPS)
        other.synchronize()
        assert max(map(problem.worst_error, outputs)) <= 1
    with tw.init(virtual="2", device="cuda") as new:
        x = load(new.window((8, 1024), tw.bf16), problem)
        outputs = [problem.poisoned_output() for _ in range(2)]
        allreduce_rmsnorm[2](x, problem.gain, outputs, EPS)
        new.synchronize()
        assert max(map(problem.worst_error, outputs)) <= 1


def test_windows_that_python_collected_are_reused(pair):
    torch.cuda.synchronize()
    pair.window((64 << 20,), tw.u8)
    free, _ = torch.cuda.mem_get_info()
    for _ in range(20):
        window = pair.window((64 << 20,), tw.u8)
        del window
        gc.collect()
    assert free - torch.cuda.mem_get_info()[0] <= 2 * 2 * (72 << 20)


def test_parts_of_windows_on_the_host(pair):
    x = pair.window((4, 6), tw.f32)
    for rank in range(2):
        torch.from_dlpack(x.at(rank)).copy_(torch.arange(24.0).reshape(4, 6) + 100 * rank)
    part = x[1:3, ::2]
    whole = torch.arange(24.0).reshape(4, 6)
    assert torch.equal(torch.from_dlpack(part).cpu(), whole[1:3, ::2])
    assert torch.equal(torch.from_dlpack(part.at(1)).cpu(), whole[1:3, ::2] + 100)
    assert torch.equal(torch.from_dlpack(x.at(1)[-1]).cpu(), whole[-1] + 100)
