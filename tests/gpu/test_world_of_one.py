"""Kernels, windows and graphs of a world of one rank, over NCCL."""

# ruff: noqa: E402

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from norm import DTYPES, EPS, SHAPES, Problem, Repeats, allreduce_rmsnorm
from tilewire._tilewire import facts_of, read_argument


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_against_float64(comm, dtype, shape):
    problem = Problem(1, dtype, *shape)
    x = comm.window(shape, getattr(tw, dtype))
    torch.from_dlpack(x).copy_(problem.inputs[0])
    y = problem.poisoned_output()
    allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)
    comm.synchronize()
    assert problem.worst_error(y) <= 1
    comm.free(x)


def test_a_window_is_shared_not_copied(comm):
    x = comm.window((8, 512), tw.f32)
    one = torch.from_dlpack(x)
    other = torch.from_dlpack(x)
    one.fill_(7)
    torch.cuda.synchronize()
    assert one.data_ptr() == other.data_ptr()
    assert bool((other == 7).all())
    assert one.dtype == torch.float32 and tuple(one.shape) == (8, 512)
    comm.free(x)


def test_a_launch_knows_which_tensors_lie_in_windows(comm):
    """Barriers release stores to those, and may skip the release for all others."""
    x = comm.window((8, 512), tw.f32)
    shared = torch.from_dlpack(x)
    ordinary = torch.zeros(8, 512, device="cuda")

    def local_only(*tensors):
        return facts_of([read_argument(each, "x") for each in tensors]).local_only

    assert local_only(shared, shared[3:, 7:], x, ordinary) == [False, False, False, True]
    comm.free(x)
    assert local_only(ordinary) == [True]


def test_graphs_replay_a_thousand_times_between_eager_launches(comm):
    shape = (16, 2048)
    problems = [Problem(1, "bf16", *shape, seed=seed) for seed in range(5)]
    x = comm.window(shape, tw.bf16)
    gain = problems[0].gain.clone()
    y = problems[0].poisoned_output()
    allreduce_rmsnorm[tw.auto](x, gain, y, EPS)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        allreduce_rmsnorm[tw.auto](x, gain, y, EPS)
    for problem in problems:
        torch.from_dlpack(x).copy_(problem.inputs[0])
        gain.copy_(problem.gain)
        check = Repeats(y, lambda y, problem=problem: problem.worst_error(y) <= 1)
        for i in range(200):
            check(graph.replay)
            if i % 7 == 0:
                grid = 1 + i % 5
                check(lambda grid=grid: allreduce_rmsnorm[grid](x, gain, y, EPS))
        assert check.all_alike()
    comm.free(x)


def test_a_window_inside_a_capture_is_refused(comm):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scratch = torch.zeros(4, device="cuda")  # a graph has something in it
        with pytest.raises(tw.UserError, match="can't be recorded into a CUDA graph: do it once"):
            comm.window((4, 4), tw.f32)
    graph.replay()
    torch.cuda.synchronize()
    assert scratch.sum().item() == 0


def test_kernels_on_tensors_take_no_communicator(comm):
    @tw.kernel
    def scale(x: tw.Tensor["N"], y: tw.Tensor["N"], by: tw.f32, *, B: tw.const = 1024):
        for b in tw.persistent(tw.cdiv(N, B)):
            tw.store(y[tw.ds(b * B, B)], tw.load(x[tw.ds(b * B, B)]) * by)

    for size in (1, 1000, 1024, 1_000_003):
        x = torch.randn(size, device="cuda")
        y = torch.full_like(x, torch.nan)
        scale[tw.auto](x, y, 2.5)
        assert torch.equal(y, x * 2.5)
    strided = torch.randn(1000, 2, device="cuda")[:, 1]
    y = torch.full((1000,), torch.nan, device="cuda")
    scale[tw.auto](strided, y, 3.0)
    assert torch.equal(y, strided * 3.0)


def test_a_cpu_array_is_refused_by_name(comm):
    x = comm.window((4, 512), tw.bf16)
    problem = Problem(1, "bf16", 4, 512)
    with pytest.raises(tw.UserError, match="argument `gain`"):
        allreduce_rmsnorm[tw.auto](x, problem.gain.cpu(), problem.poisoned_output(), EPS)
    comm.free(x)
