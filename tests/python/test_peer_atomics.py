"""Which kernels need native atomics between GPUs: those that change memory in one step where peers
do so too."""

import pytest
import tilewire as tw


@tw.kernel
def signalling(s: tw.Semaphore["N"], *, N: tw.const):
    tw.signal(s.at(0)[1])


@tw.kernel
def setting(f: tw.Flag["N"], *, N: tw.const):
    tw.set(f.at(0)[1])


@tw.kernel
def adding(x: tw.Window["N"], *, N: tw.const):
    tw.add(x.at(0)[:], tw.zeros((N,), tw.f32))


@tw.kernel
def storing(x: tw.Window["N"], *, N: tw.const):
    tw.barrier()
    tw.store(x.at(0)[:], tw.load(x[:]))
    tw.barrier()


@tw.kernel
def adding_here(x: tw.Tensor["N"], *, N: tw.const):
    tw.add(x[:], tw.zeros((N,), tw.f32))


CASES = [
    (signalling, {"s": "semaphore[4]"}, True),
    (setting, {"f": "flag[4]"}, True),
    (adding, {"x": "window:f32[256]"}, True),
    (storing, {"x": "window:f32[256]"}, False),
    (adding_here, {"x": "f32[256]"}, False),
]


@pytest.mark.parametrize(("kernel", "arguments", "needed"), CASES)
def test_peer_atomics(described_artifact, kernel, arguments, needed):
    artifact = described_artifact(kernel, "sm_90a:world=2", **arguments)
    assert artifact.resources.peer_atomics == needed


@pytest.mark.parametrize(("kernel", "arguments", "needed"), CASES)
def test_a_world_of_one_needs_none(described_artifact, kernel, arguments, needed):
    artifact = described_artifact(kernel, "sm_90a", **arguments)
    assert not artifact.resources.peer_atomics
