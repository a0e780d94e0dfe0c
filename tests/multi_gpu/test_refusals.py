"""What the GPUs or the communicator lack: kernels that need it are refused with the reason, on all
ranks, before anything starts; programs that can do without it do, on all ranks alike."""

# ruff: noqa: E402

import hashlib
import inspect
import os

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw
from example_programs import MULTIMEM, load
from tilewire import cli

N = 4096
REASONS = {"0": "off: NCCL_NVLS_ENABLE=0"}  # by what NCCL_NVLS_ENABLE is


@tw.kernel
def tell_all(x: tw.Window["N"], *, N: tw.const):
    tw.barrier()
    if tw.rank() == 0:
        tw.store(x.multicast()[:], tw.full((N,), 1.0, tw.f32))
    tw.barrier()


@tw.kernel
def add_up(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const):
    tw.barrier()
    tw.store(y[:], tw.all_reduce_load(x[:], order="any"))
    tw.barrier()


@tw.kernel
def pass_on(x: tw.Window["N"], sem: tw.Semaphore["S"], y: tw.Tensor["N"], *, N: tw.const):
    peer = (tw.rank() + 1) % tw.world_size()
    tw.put(x.at(peer)[:], tw.load(y[:]), signal=sem.at(peer)[0])
    tw.wait(sem[0])


ARGUMENTS = {
    tell_all: {"x": f"window:f32[{N}]"},
    add_up: {"x": f"window:f32[{N}]", "y": f"f32[{N}]"},
    pass_on: {"x": f"window:f32[{N}]", "sem": "semaphore[1]", "y": f"f32[{N}]"},
}


def why_not(comm, feature):
    answers = {name: (has, reason) for name, has, reason, _ in comm._world.capabilities[1]}
    has, reason = answers[feature]
    assert not has and reason
    return reason


@pytest.fixture
def without_multimem(comm):
    if comm.size == 1:
        pytest.skip("one rank has no peers")
    if comm.target.multimem:
        pytest.skip("this communicator has multimem")
    return comm


def message_of(call):
    with pytest.raises(tw.UserError) as refused:
        call()
    return str(refused.value)


def check_sum(comm, x):
    """The communicator still works, and ranks get the same sums; a digest of the code."""
    torch.from_dlpack(x).copy_(torch.arange(N, device="cuda") + comm.rank)
    torch.cuda.synchronize()
    comm.barrier()
    y = torch.full((N,), torch.nan, device="cuda")
    add_up[1](x, y)
    comm.synchronize()
    ranks = comm.size
    expected = torch.arange(N, device="cuda") * ranks + ranks * (ranks - 1) // 2
    assert torch.equal(y, expected.float())
    artifact = add_up.compiled()[-1].artifact
    assert artifact.resources.multimem == comm.target.multimem
    assert ("multimem_" in artifact.source) == comm.target.multimem
    return hashlib.sha256(f"{comm.target}\n{artifact.source}".encode()).digest()


def test_multicast_is_refused_with_line_and_reason(without_multimem):
    comm = without_multimem
    x = comm.window(N, tw.f32)
    message = message_of(lambda: tell_all[1](x))
    reason = why_not(comm, "multimem")
    assert reason == REASONS.get(os.environ["NCCL_NVLS_ENABLE"], reason)
    lines, first = inspect.getsourcelines(tell_all.function)
    line = next(first + i for i, text in enumerate(lines) if "multicast()" in text)
    file = os.path.basename(__file__)
    assert f"{file}:{line}: multicast: there is no multimem on `{comm.target}`" in message
    assert f"this communicator has no multimem: {reason}" in message
    check_sum(comm, x)
    comm.barrier()
    comm.free(x)


@pytest.mark.parametrize("kernel", [tell_all, add_up], ids=lambda kernel: kernel.name)
def test_what_was_compiled_for_multimem_is_refused(without_multimem, kernel):
    """By what every launch asks first."""
    comm = without_multimem
    target = f"{comm.target.architecture}:world={comm.size},multimem=1"
    compiled = kernel.compile(target, kernel.specialise_text(ARGUMENTS[kernel]))
    assert compiled.artifact.resources.multimem
    message = message_of(lambda: comm._world.grid_limit(comm._load(compiled)))
    assert f"this communicator is `{comm.target}`" in message
    assert f"it has no multimem ({why_not(comm, 'multimem')})" in message


def test_what_was_compiled_for_a_network_is_refused(comm):
    if comm.size == 1:
        pytest.skip("one rank has no peers")
    if comm.target.gin:
        pytest.skip("this communicator has a network")
    target = f"{comm.target.architecture}:world={comm.size},lsa=1,gin=1"
    compiled = pass_on.compile(target, pass_on.specialise_text(ARGUMENTS[pass_on]))
    assert compiled.artifact.resources.network
    message = message_of(lambda: comm._world.grid_limit(comm._load(compiled)))
    reason = why_not(comm, "network (GIN)")
    if comm.lsa_size == comm.size:
        assert reason == "not needed: loads and stores reach all ranks"
    assert f"was compiled for `{target.replace('gin=1', 'multimem=0,gin=1')}`" in message
    assert f"it has no GIN ({reason})" in message


def test_ranks_run_the_same_code_where_multimem_is_a_choice(comm):
    """A window that a rank fills with what it launched reaches all of them."""
    x, told = comm.window(N, tw.f32), comm.window((comm.size, 32), tw.u8)
    digest = torch.frombuffer(bytearray(check_sum(comm, x)), dtype=torch.uint8).cuda()
    for rank in range(comm.size):
        torch.from_dlpack(told.at(rank))[comm.rank].copy_(digest)
    torch.cuda.synchronize()
    comm.barrier()
    found = torch.from_dlpack(told).cpu()
    comm.barrier()
    comm.free(x)
    comm.free(told)
    assert all(torch.equal(found[0], each) for each in found)


@pytest.mark.parametrize("name", MULTIMEM)
def test_examples_that_prefer_multimem_do_without(without_multimem, name):
    shape = [1001, 8192] if name.startswith("26") else [10_000_019]
    line = load(name).main(without_multimem, *shape)
    assert " by loads" in line and "multimem" not in line


def test_the_doctor_says_so_once(comm, capsys):
    assert cli.main(["doctor", "--distributed"]) == 0
    told = capsys.readouterr().out
    comm.barrier()
    if comm.rank != 0:
        assert told == ""
        return
    assert told.count(f": {comm.size} ranks, NCCL ") == 1
    assert f"\n  together  {comm.target}\n" in told
    for rank in range(comm.size):
        assert told.count(f"\n  rank {rank}  ") == 1
    together = told.partition("\n  together  ")[2]
    for name, has, reason, _ in comm._world.capabilities[1]:
        line = next(each for each in together.splitlines() if f"  {name}" in each)
        assert line.split()[0] == ("ok" if has else "--")
        assert reason in line
