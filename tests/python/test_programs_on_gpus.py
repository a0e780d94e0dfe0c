"""The programs of `examples/` and the litmus tests compile for a GPU, for every signature that they
are launched with on two ranks, and on two teams of four where they reach any rank."""

import litmus
import pytest
import tilewire as tw
from example_programs import ANY_TOPOLOGY, SHAPES, load
from tilewire._tilewire import Target

TARGET = "sm_90a:world=2"
BETWEEN_TEAMS = "sm_90a:world=8,lsa=4,gin=1"


def check_kernels(module, gpu_target=TARGET):
    kernels = [each for each in vars(module).values() if isinstance(each, tw.Kernel)]
    compiled = 0
    for kernel in kernels:
        for specialisation, target, facts in list(kernel._compiled):
            if target.is_cuda or target.world_size != Target(gpu_target).world_size:
                continue
            found = kernel.compile(gpu_target, specialisation, facts)
            assert found.artifact.num_binary_bytes > 1000
            compiled += 1
    return compiled


def compile_example(name, world, gpu_target):
    module = load(name)
    shape = [int(part) for part in SHAPES[name][-1].split(",")]
    tw.spawn(lambda comm: module.main(comm, *shape), world=world)
    assert check_kernels(module, gpu_target) > 0


@pytest.mark.parametrize("name", SHAPES)
def test_examples(name):
    compile_example(name, "2", TARGET)


@pytest.mark.parametrize("name", ANY_TOPOLOGY)
def test_examples_between_teams(name):
    compile_example(name, "2x4", BETWEEN_TEAMS)


def test_litmus_tests():
    for run, _ in litmus.LITMUS.values():
        tw.spawn(lambda comm, run=run: run(comm, 2), world="2")
    modules = (litmus.barriers, litmus.channels, litmus.flags, litmus.semaphores)
    assert sum(check_kernels(module) for module in modules) > 10  # some share a kernel
