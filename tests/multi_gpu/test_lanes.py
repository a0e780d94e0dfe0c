"""Lanes, windows and several communicators on GPUs of their own: run under torchrun."""

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw
from norm import EPS, Problem, allreduce_rmsnorm


@tw.kernel
def meet(y: tw.Tensor["N"], *, N: tw.const, K: tw.const):
    for _ in tw.unroll(K):
        tw.barrier()
    tw.store(y[:], tw.full((N,), 1.0, tw.f32))


def load(window, tensor):
    torch.from_dlpack(window).copy_(tensor)
    return window


def needs_two(comm):
    if comm.size == 1:
        pytest.skip("one rank can't disagree")


def test_two_lanes_at_once_on_two_streams(comm):
    shape = (64, 4096)
    problems = [Problem(comm.size, "bf16", *shape, seed=seed) for seed in range(2)]
    lanes = [comm.lane(1, sms=32), comm.lane(2, sms=32)]
    windows = [
        load(lane.window(shape, tw.bf16), problem.inputs[comm.rank])
        for lane, problem in zip(lanes, problems, strict=True)
    ]
    outputs = [problem.poisoned_output() for problem in problems]
    streams = [torch.cuda.Stream() for _ in range(2)]
    comm.barrier()
    for i in range(300):
        for k in (0, 1) if i % 2 == 0 else (1, 0):
            with torch.cuda.stream(streams[k]):
                allreduce_rmsnorm[tw.auto](windows[k], problems[k].gain, outputs[k], EPS)
    comm.synchronize()
    errors = [problem.worst_error(y) for problem, y in zip(problems, outputs, strict=True)]
    comm.barrier()
    assert max(errors) <= 1
    for window in windows:
        comm.free(window)


def test_lanes_that_ranks_ask_for_differently(comm):
    needs_two(comm)
    with pytest.raises(tw.UserError, match=r"rank 0 is in comm.lane\(9, sms=4.*sms=5"):
        comm.lane(9, sms=4 + comm.rank)
    comm.barrier()


def test_windows_that_ranks_ask_for_differently(comm):
    needs_two(comm)
    with pytest.raises(tw.UserError, match=r"rank 0 is in comm.window\(\(4,\).*comm.window\(\(5,"):
        comm.window((4 + comm.rank,), tw.f32)
    with pytest.raises(tw.UserError, match=r"rank 0 is in comm.semaphore\(1, .*comm.flag\(1\)"):
        comm.semaphore(1) if comm.rank == 0 else comm.flag(1)
    comm.barrier()


def test_first_launches_of_different_kernels(comm):
    needs_two(comm)
    y = torch.zeros(128, device="cuda")
    with pytest.raises(tw.UserError, match=r"the launch of meet\[2\]\(N=128, K=2\).*K=3"):
        meet[2](y, K=2 + comm.rank)
    comm.barrier()


def test_windows_are_reused_whatever_order_ranks_let_them_go_in(comm):
    shape = (32, 1024)
    problem = Problem(comm.size, "bf16", *shape)
    held = {}
    free = None
    errors = []
    for step in range(60):
        x = load(comm.window(shape, tw.bf16), problem.inputs[comm.rank])
        big = comm.window((32 << 20,), tw.u8)
        y = problem.poisoned_output()
        comm.barrier()
        allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)
        comm.synchronize()
        errors.append(problem.worst_error(y))
        held[step] = (x, big)
        # Each rank lets go of another one, and of all in the end.
        for old in [each for each in held if each % (2 + comm.rank) == 0 or step - each > 4]:
            del held[old]
        if step == 20:
            free = torch.cuda.mem_get_info()[0]
    assert max(errors) <= 1
    assert free - torch.cuda.mem_get_info()[0] < 3 * (34 << 20)
    comm.barrier()


def test_reserved_memory_serves_windows_without_registration(comm):
    comm.reserve(256 << 20)
    free, _ = torch.cuda.mem_get_info()
    windows = [comm.window((16 << 20,), tw.u8) for _ in range(12)]
    assert free == torch.cuda.mem_get_info()[0]
    for window in windows:
        comm.free(window)


def test_a_sub_group_beside_the_world(comm):
    import torch.distributed as dist

    needs_two(comm)
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    groups = [dist.new_group([rank]) for rank in range(comm.size)]
    world = tw.init(process_group=dist.group.WORLD)
    own = tw.init(process_group=groups[comm.rank])
    assert (world.size, own.size) == (comm.size, 1)
    shape = (16, 1024)
    errors = []
    for each, problem in ((world, Problem(world.size, "bf16", *shape)), (own, None)):
        problem = problem or Problem(1, "bf16", *shape, seed=3)
        x = load(each.window(shape, tw.bf16), problem.inputs[each.rank])
        y = problem.poisoned_output()
        allreduce_rmsnorm[tw.auto](x, problem.gain, y, EPS)
        each.synchronize()
        errors.append(problem.worst_error(y))
    own.close()
    world.close()
    dist.destroy_process_group()
    assert max(errors) <= 1


def test_a_new_communicator_after_an_abort(comm):
    dying = tw.init()
    shape = (16, 1024)
    problem = Problem(comm.size, "bf16", *shape)
    x = load(dying.window(shape, tw.bf16), problem.inputs[comm.rank])
    y = problem.poisoned_output()
    allreduce_rmsnorm[4](x, problem.gain, y, EPS)
    dying.synchronize()
    if comm.size > 1 and comm.rank == 0:
        allreduce_rmsnorm[4](x, problem.gain, y, EPS)  # nobody comes
    dying.abort()
    with pytest.raises(tw.UserError, match="was aborted"):
        allreduce_rmsnorm[4](x, problem.gain, y, EPS)
    dying.close()
    new = tw.init()
    x = load(new.window(shape, tw.bf16), problem.inputs[comm.rank])
    y = problem.poisoned_output()
    allreduce_rmsnorm[4](x, problem.gain, y, EPS)
    new.synchronize()
    error = problem.worst_error(y)
    new.close()
    comm.barrier()
    assert error <= 1
