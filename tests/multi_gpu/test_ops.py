"""`tilewire.ops` on several GPUs: random shapes and epilogues, graphs, and a rank that is late."""

from __future__ import annotations

import os
import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw  # noqa: E402
from ops_on_gpus import FORMS, OPS, TILING, Run  # noqa: E402
from ops_problems import Problem  # noqa: E402

SHAPES = int(os.environ.get("TILEWIRE_TEST_SHAPES", "500"))
REPLAYS = int(os.environ.get("TILEWIRE_TEST_REPLAYS", "1000"))
MAX_M, MAX_N = 700, 640
KS = [8, 64, 200, 333, 1]  # few, since an all-gather's is that of its window; the last ones are odd
CYCLES = 18_000_000  # about 10 ms
TOGETHER = 50


def random_shape(generator, form):
    """Mostly small; sometimes without rows. Either all aligned, or not at all: what a kernel knows
    of its arguments makes other code."""
    M = generator.choice([0, 1, generator.randint(2, 80), generator.randint(81, MAX_M)])
    if form.get("activation") == "silu_and_mul":
        return M, 128 * generator.randint(1, MAX_N // 128), generator.choice(KS[:3])
    if generator.random() < 0.5:
        return M, 8 * generator.randint(1, MAX_N // 8), generator.choice(KS[:3])
    return M, 2 * generator.randint(0, MAX_N // 2 - 1) + 1, generator.choice(KS[3:])


class Objects:
    """The operation's objects, one for each K where that matters."""

    def __init__(self, comm, name):
        self.comm, self.made = comm, {}
        self.op_name, self.options = OPS[name]

    def of(self, problem):
        key = None if problem.is_reducing else problem.K
        if key not in self.made:
            largest = Problem(self.op_name, self.comm.size, MAX_M, MAX_N, problem.K, dtype="bf16")
            self.made[key] = largest.make(self.comm, tiling=TILING, mode="fused", **self.options)
        return self.made[key]


def problem_of(comm, name, shape, seed, form):
    op_name = OPS[name][0]
    return Problem(op_name, comm.size, *shape, dtype="bf16", seed=seed, **form)


@pytest.mark.parametrize("name", OPS)
def test_random_shapes_and_epilogues(comm, name):
    """Launches in a row, of which none waits for a host; all ranks draw the same."""
    generator, objects = random.Random(name), Objects(comm, name)
    for done in range(0, SHAPES, TOGETHER):
        runs, results = [], []
        for _ in range(min(TOGETHER, SHAPES - done)):
            form = generator.choice(FORMS)
            shape = random_shape(generator, form)
            problem = problem_of(comm, name, shape, generator.randrange(1 << 30), form)
            runs.append(Run(comm, problem))
        with tw.precompile():  # most of the time, one after the other
            for run in runs:
                run(objects.of(run.problem))
        comm.barrier()
        for run in runs:
            results.append([each.clone() for each in run(objects.of(run.problem))])
        comm.synchronize()
        for run, result in zip(runs, results, strict=True):
            run.check(result)
    comm.barrier()


@pytest.mark.parametrize("name", OPS)
def test_graphs_replay_a_thousand_times(comm, name):
    """Results repeat bit for bit; now and then the inputs change, and a launch comes between."""
    shape, form = (500, 384, 200), FORMS[1]
    others = [Run(comm, problem_of(comm, name, shape, seed, form)) for seed in range(5)]
    op = Objects(comm, name).of(others[0].problem)
    run = Run(comm, others[0].problem)
    run(op)
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run(op)
    for other in others:
        run.take(other)
        comm.barrier()
        differs, first = torch.zeros((), device="cuda", dtype=torch.bool), None
        for n in range(REPLAYS // len(others)):
            run.poison()
            graph.replay()
            result = captured[0]
            if first is None:
                first = result.clone()
            differs |= (result != first).any()
            if n % 50 == 49:
                run.poison()
                differs |= (run(op)[0] != first).any()
        comm.synchronize()
        assert not bool(differs)
        run.check([first])
    comm.barrier()


@pytest.mark.parametrize("name", OPS)
def test_a_rank_that_is_late_changes_nothing_but_time(comm, name):
    late, form, shape = random.Random(1), FORMS[2], (300, 256, 64)
    runs = [Run(comm, problem_of(comm, name, shape, seed, form)) for seed in range(4)]
    op = Objects(comm, name).of(runs[0].problem)
    results = []
    for turn in range(100):
        rank, cycles, is_late = late.randrange(comm.size), late.randrange(CYCLES), late.random()
        if rank == comm.rank and is_late < 0.5:
            torch.cuda._sleep(cycles)
        results.append([each.clone() for each in runs[turn % len(runs)](op)])
    comm.synchronize()
    comm.barrier()
    for turn, result in enumerate(results):
        runs[turn % len(runs)].check(result)


def test_ranks_get_the_same_bits_of_an_all_reduce(comm):
    for name in [each for each in OPS if each.startswith("gemm_all_reduce")]:
        problem = problem_of(comm, name, (300, 256, 200), 1, FORMS[1])
        run = Run(comm, problem)
        found = run(Objects(comm, name).of(problem))[0].contiguous()
        window = comm.window((comm.size, *found.shape), tw.bf16)
        for rank in range(comm.size):
            torch.from_dlpack(window.at(rank))[comm.rank].copy_(found)
        comm.synchronize()
        comm.barrier()
        gathered = torch.from_dlpack(window)
        assert all(torch.equal(gathered[0], each) for each in gathered)
        comm.barrier()
        comm.free(window)
