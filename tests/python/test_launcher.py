"""The launcher: which values reach a kernel, on which stream and grid, and what it keeps."""

import gc
import struct
import weakref

import dlpack_structures as dlpack
import launch_kernels as kernels
import numpy
import pytest
import tilewire as tw
from launcher import Fallback, add, make, slots
from tilewire._tilewire import DType, Launcher, LocalFacts, RecordingTarget


def test_values_reach_the_kernel():
    launcher, target, fallback = make()
    assert launcher(*kernels.gpu_arguments(rows=5)) is None
    assert (target.num_launches, target.grid) == (1, 16)
    window, gain, y, factor, count, rows, _ = slots(target)
    assert struct.unpack("QQQQQ", window) == (0, 0, 0xAB0000, 0, 0)
    assert struct.unpack("Q", gain) == (0x10000,)
    assert struct.unpack("Q", y) == (0x20000,)
    assert struct.unpack("f", factor) == (0.5,)
    assert struct.unpack("i", count) == (3,)
    assert struct.unpack("q", rows) == (5,)
    assert fallback.calls == []


def test_strides_reach_the_kernel():
    facts = LocalFacts(
        [True, True, False, False, False], [16, 16, 16, 0, 0], [False, True, True, False, False]
    )
    launcher, target, fallback = make(facts=facts)
    arguments = kernels.gpu_arguments()
    arguments[2] = dlpack.ExchangeTensor(0x20000, shape=(4, 8), strides=(24, 2))
    launcher(*arguments)
    strides = [struct.unpack("q", each)[0] for each in slots(target)[5:7]]
    assert strides == [24, 2]
    assert fallback.calls == []


class ResizingTensor(dlpack.CapsuleTensor):
    """Gives its memory, and another tensor a new shape."""

    def __dlpack__(self, **keywords):
        self.other.shape, self.other.strides = (9,), (1,)
        return super().__dlpack__(**keywords)


def test_tensors_that_change_during_the_call_are_read_again():
    launcher, target, fallback = make()
    arguments = kernels.gpu_arguments()
    arguments[2] = ResizingTensor(0x20000, (dlpack.FLOAT, 32), (4, 8))
    arguments[2].other = arguments[1]
    assert launcher(*arguments) == "fallback"
    assert (target.num_launches, len(fallback.calls)) == (0, 1)


def test_a_window_can_be_passed_for_a_tensor():
    launcher, target, _ = make()
    arguments = kernels.gpu_arguments()
    arguments[2] = kernels.gpu_window()
    launcher(*arguments)
    assert struct.unpack("Q", target.slot(2)) == (0xAB0000,)


def test_subclasses_of_windows_and_tensors_are_served():
    class Named(type(kernels.gpu_window())):
        pass

    class Parameter(dlpack.ExchangeTensor):
        pass

    launcher, target, _ = make()
    arguments = kernels.gpu_arguments()
    arguments[0] = Named(
        dtype=DType.f32, shape=(4, 8), device="cuda", rank=0, copies=[0x99], owner=None,
        communicator=kernels.COMMUNICATOR,
    )  # fmt: skip
    arguments[2] = Parameter(0x30000)
    launcher(*arguments)
    assert struct.unpack("QQQQQ", target.slot(0)) == (0, 0, 0x99, 0, 0)
    assert struct.unpack("Q", target.slot(2)) == (0x30000,)


def test_other_protocols_are_served_too():
    launcher, target, fallback = make(stream=0x77)
    arguments = kernels.gpu_arguments()
    arguments[2] = dlpack.CapsuleTensor(0x2FFF0, (dlpack.FLOAT, 32), (4, 8))
    launcher(*arguments)
    assert struct.unpack("Q", target.slot(2)) == (0x30000,)
    assert arguments[2].asked[-1]["stream"] == 0x77
    read_only = dlpack.CapsuleTensor(0x2FFF0, (dlpack.FLOAT, 32), (4, 8), flags=dlpack.READ_ONLY)
    arguments[2] = read_only
    launcher(*arguments)
    assert (target.num_launches, len(fallback.calls)) == (1, 1)


@pytest.mark.parametrize("value", [numpy.float32(0.5), numpy.float64(0.5), numpy.int32(2), True])
def test_numpy_scalars_are_served(value):
    launcher, target, _ = make()
    arguments = kernels.gpu_arguments()
    arguments[3] = value
    launcher(*arguments)
    assert struct.unpack("f", target.slot(3)) == (float(value),)


def test_stream_is_the_frameworks_current_one():
    launcher, target, _ = make()
    launcher(*kernels.gpu_arguments())
    assert target.stream == dlpack.ExchangeTensor.stream


def test_stream_can_be_said():
    launcher, target, _ = make(stream=0x1234)
    launcher(*kernels.gpu_arguments())
    assert target.stream == 0x1234


@pytest.mark.parametrize(("rows", "grid"), [(4, 4), (100, 32), (1, 1), (0, 1)])
def test_auto_grid_follows_the_arguments(rows, grid):
    launcher, target, _ = make(grid=None, grid_limit=32)
    launcher(*kernels.gpu_arguments(rows=rows))
    assert target.grid == grid


def test_several_forms_are_kept():
    launcher, first, fallback = make()
    second = add(launcher, dtype=DType.bf16)
    third = add(launcher, mode=2)
    assert len(launcher) == 3
    bf16 = kernels.gpu_arguments(dtype=(dlpack.BFLOAT, 16), window_dtype=DType.bf16)
    for _ in range(2):
        launcher(*kernels.gpu_arguments())
        launcher(*bf16)
        launcher(*kernels.gpu_arguments(), MODE=2)
    assert [t.num_launches for t in (first, second, third)] == [2, 2, 2]
    assert fallback.calls == []


def test_the_number_of_forms_is_bounded():
    launcher, _, _ = make()
    for mode in range(2, 80):
        add(launcher, mode=mode)
    assert len(launcher) == 32


def test_a_failed_launch_raises():
    launcher, target, fallback = make()
    target.fail_with("CUDA driver: cuLaunchKernelEx failed: 1")
    with pytest.raises(tw.BackendError, match="cuLaunchKernelEx failed"):
        launcher(*kernels.gpu_arguments())
    target.fail_with("")
    launcher(*kernels.gpu_arguments())
    assert (target.num_launches, fallback.calls) == (1, [])


def test_an_exception_of_the_fallback_passes_through():
    def fallback(*_args):
        raise tw.UserError("said by the slow path")

    launcher = Launcher(fallback, kernels.PARAMETERS, grid=1)
    with pytest.raises(tw.UserError, match="said by the slow path"):
        launcher(1)


def test_an_artifact_of_another_signature_is_refused():
    launcher = Launcher(Fallback(), kernels.PARAMETERS[1:], grid=1)
    with pytest.raises(tw.InternalError, match="other parameters"):
        add(launcher)
    launcher = Launcher(Fallback(), kernels.PARAMETERS, grid=1)
    with pytest.raises(tw.InternalError, match="no value for the constant `H`"):
        launcher.add(RecordingTarget(kernels.artifact_of()), {"MODE": 1})


def test_arguments_are_not_kept():
    launcher, _, _ = make()
    arguments = kernels.gpu_arguments()
    alive = [weakref.ref(each) for each in arguments[1:3]]
    launcher(*arguments)
    del arguments
    gc.collect()
    assert [each() for each in alive] == [None, None]


def test_a_cycle_through_the_fallback_is_collected():
    class Kernel:
        pass

    kernel = Kernel()
    kernel.launcher = Launcher(lambda *_: kernel, kernels.PARAMETERS, grid=1)
    alive = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert alive() is None


def test_slow_path_checks_and_launches():
    target = RecordingTarget(kernels.artifact_of(), communicator=kernels.COMMUNICATOR)
    target.launch(3, kernels.gpu_arguments(rows=6), 0x55)
    assert (target.grid, target.stream) == (3, 0x55)
    assert struct.unpack("q", target.slot(5)) == (6,)
    arguments = kernels.gpu_arguments()
    arguments[0] = kernels.gpu_window(communicator=1)
    with pytest.raises(tw.UserError, match="window of another communicator"):
        target.launch(3, arguments, 0)
    arguments = kernels.gpu_arguments()
    arguments[1] = dlpack.ExchangeTensor(0x10000, shape=(8,), device=(dlpack.CUDA, 1))
    with pytest.raises(tw.UserError, match="`x` is on cuda:0 but argument `gain` is on cuda:1"):
        target.launch(3, arguments, 0)
