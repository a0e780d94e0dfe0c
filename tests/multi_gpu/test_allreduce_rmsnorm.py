"""The fused kernel on several GPUs against float64.

Every rank makes the inputs of all ranks and checks its own result, after all collective calls of a
test: a rank that finds an error leaves the others at the next test's first call, together with it.
"""

# ruff: noqa: E402

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw
from norm import DTYPES, EPS, SHAPES, Problem, allreduce_rmsnorm


def load(window, tensor):
    torch.from_dlpack(window).copy_(tensor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_against_float64(comm, dtype, shape):
    x = comm.window(shape, getattr(tw, dtype))
    for seed in range(2):
        problem = Problem(comm.size, dtype, *shape, seed=seed)
        y = problem.poisoned_output()
        load(x, problem.inputs[comm.rank])
        allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)
        comm.synchronize()
        error = problem.worst_error(y)
        comm.barrier()
        assert error <= 1
    comm.free(x)


def test_replays_mixed_with_eager_launches(comm):
    shape = (64, 8192)
    x = comm.window(shape, tw.bf16)
    problems = [Problem(comm.size, "bf16", *shape, seed=seed) for seed in range(10)]
    gain = problems[0].gain
    y = problems[0].poisoned_output()
    allreduce_rmsnorm[tw.auto](x, gain, y, EPS)  # compiled and agreed before the capture
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        allreduce_rmsnorm[tw.auto](x, gain, y, EPS)
    errors = []
    for problem in problems:
        load(x, problem.inputs[comm.rank])
        gain.copy_(problem.gain)
        for i in range(100):
            if i % 7 == 0:
                allreduce_rmsnorm[1 + i % 5](x, gain, y, EPS)
            y.fill_(torch.nan)
            graph.replay()
        torch.cuda.synchronize()
        errors.append(problem.worst_error(y))
        comm.barrier()
    comm.free(x)
    assert max(errors) <= 1


def test_launches_from_two_streams_run_in_order(comm):
    shape = (64, 4096)
    x = comm.window(shape, tw.bf16)
    problem = Problem(comm.size, "bf16", *shape, seed=3)
    load(x, problem.inputs[comm.rank])
    outputs = [problem.poisoned_output() for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in range(2)]
    comm.barrier()
    for i in range(200):
        with torch.cuda.stream(streams[i % 2]):
            allreduce_rmsnorm[tw.auto](x, problem.gain, outputs[i % 2], EPS)
    comm.synchronize()
    errors = [problem.worst_error(y) for y in outputs]
    comm.barrier()
    comm.free(x)
    assert max(errors) <= 1


def test_windows_must_have_one_size(comm):
    with pytest.raises(tw.UserError, match=r"rank 0 is in comm.window\(.*rank 1 in comm.window\("):
        comm.window((comm.rank + 1, 4096), tw.bf16)
    comm.barrier()


def test_ranks_that_launch_different_grids_are_told(comm):
    if comm.size == 1:
        pytest.skip("one rank can't disagree")
    x = comm.window((8, 512), tw.bf16)
    problem = Problem(comm.size, "bf16", 8, 512)
    y = problem.poisoned_output()
    with pytest.raises(
        tw.UserError, match=r"rank 0 is in the launch of .*\[2\].*rank 1 in the launch of .*\[3\]"
    ):
        allreduce_rmsnorm[2 + comm.rank](x, problem.gain, y, EPS)
    comm.barrier()
    comm.free(x)


def test_on_pytorchs_own_communicator(comm):
    import torch.distributed as dist

    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    dist.barrier()
    shared = tw.init(process_group=dist.group.WORLD)
    x = shared.window((16, 1024), tw.f32)
    problem = Problem(shared.size, "f32", 16, 1024, seed=5)
    load(x, problem.inputs[shared.rank])
    y = problem.poisoned_output()
    allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)
    shared.synchronize()
    error = problem.worst_error(y)
    shared.close()
    total = torch.ones(1, device="cuda")
    dist.all_reduce(total)  # PyTorch's communicator is still whole
    torch.cuda.synchronize()
    dist.destroy_process_group()
    assert error <= 1
    assert total.item() == comm.size


def test_windows_of_two_communicators_do_not_mix(comm):
    other = tw.init()
    x = comm.window((4, 512), tw.bf16)
    z = other.window((4, 512), tw.bf16)

    @tw.kernel
    def add(a: tw.Window["T", "H"], b: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
        for row in tw.persistent(T):
            tw.store(y[row, :], tw.load(a[row, :]) + tw.load(b[row, :]))

    y = torch.zeros(4, 512, device="cuda", dtype=torch.bfloat16)
    with pytest.raises(tw.UserError, match="two communicators"):
        add[tw.auto](x, z, y)
    other.close()
    comm.free(x)
