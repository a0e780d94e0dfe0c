"""The programs of `examples/` and the litmus tests compile for a GPU, for every signature that they
are launched with on two ranks."""

import litmus
import pytest
import tilewire as tw
from example_programs import SHAPES, load

TARGET = "sm_90a:world=2"


def check_kernels(module):
    kernels = [each for each in vars(module).values() if isinstance(each, tw.Kernel)]
    compiled = 0
    for kernel in kernels:
        for specialisation, target, facts in list(kernel._compiled):
            if target.is_cuda or target.world_size != 2:
                continue
            found = kernel.compile(TARGET, specialisation, facts)
            assert found.artifact.num_binary_bytes > 1000
            compiled += 1
    return compiled


@pytest.mark.parametrize("name", SHAPES)
def test_examples(name):
    module = load(name)
    shape = [int(part) for part in SHAPES[name][-1].split(",")]
    tw.spawn(lambda comm: module.main(comm, *shape), world="2")
    assert check_kernels(module) > 0


def test_litmus_tests():
    for run, _ in litmus.LITMUS.values():
        tw.spawn(lambda comm, run=run: run(comm, 2), world="2")
    modules = (litmus.barriers, litmus.channels, litmus.flags, litmus.semaphores)
    assert sum(check_kernels(module) for module in modules) > 10  # some share a kernel
