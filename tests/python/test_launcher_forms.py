"""The launcher: which calls it serves from C++ alone, and which it hands on to be specialised."""

import struct

import dlpack_structures as dlpack
import launch_kernels as kernels
import numpy
import pytest
from launcher import Fallback, make
from tilewire._tilewire import DType, Launcher, LocalFacts, RecordingTarget


def test_the_first_call_goes_to_the_fallback():
    fallback = Fallback()
    launcher = Launcher(fallback, kernels.PARAMETERS, grid=4)
    assert launcher(1, 2, H=3) == "fallback"
    assert fallback.calls == [((1, 2), {"H": 3})]
    assert len(launcher) == 0


def test_names_and_constants():
    launcher, target, fallback = make()
    x, gain, y, factor, count = kernels.gpu_arguments()
    launcher(x, gain, y, count=count, factor=factor)
    launcher(y=y, x=x, gain=gain, factor=factor, count=7, H=8, MODE=1)
    assert struct.unpack("i", target.slot(4)) == (7,)
    name = "".join(["fac", "tor"])  # not the interned string
    launcher(x, gain, y, count=count, **{name: factor})
    assert (target.num_launches, fallback.calls) == (3, [])


@pytest.mark.parametrize(
    ("positional", "named"),
    [
        (5, {"H": 16}),  # another constant
        (5, {"MODE": 2}),
        (5, {"MODE": True}),  # equal to 1, yet other code
        (5, {"OTHER": 1}),
        (5, {"x": None}),  # twice
        (4, {}),  # one is missing
        (5, {"H": None}),
    ],
)
def test_calls_of_another_form_go_to_the_fallback(positional, named):
    launcher, target, fallback = make()
    arguments = kernels.gpu_arguments()[:positional]
    assert launcher(*arguments, **named) == "fallback"
    assert fallback.calls == [(tuple(arguments), named)]
    assert target.num_launches == 0


def test_float_constants_compare_by_their_bits():
    launcher, target, fallback = make(mode=0.0)
    arguments = kernels.gpu_arguments()
    launcher(*arguments, MODE=float("0.0"))  # an object of its own
    assert (target.num_launches, len(fallback.calls)) == (1, 0)
    launcher(*arguments, MODE=-0.0)
    assert (target.num_launches, len(fallback.calls)) == (1, 1)


def test_constants_are_not_positional():
    launcher, target, fallback = make()
    launcher(*kernels.gpu_arguments(), 8)
    assert (target.num_launches, len(fallback.calls)) == (0, 1)


def tensor(*args, **kwargs):
    return dlpack.ExchangeTensor(*args, **kwargs)


def failing_tensor():
    value = tensor(0x20000)
    value.fails = True
    return value


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, kernels.gpu_window((5, 8))),  # T differs from y's
        (0, kernels.gpu_window((4, 16))),
        (0, kernels.gpu_window(dtype=DType.bf16)),
        (0, kernels.gpu_window(communicator=0xC1)),
        (0, kernels.gpu_window(device_index=1)),
        (0, tensor(0x20000)),  # no window
        (0, None),
        (1, tensor(0x10000, shape=(9,))),
        (1, tensor(0x10000, shape=(2, 4))),
        (1, tensor(0x10000, (dlpack.BFLOAT, 16), (8,))),
        (1, tensor(0x10000, shape=(8,), strides=(2,))),
        (1, tensor(0x10004, shape=(8,))),  # aligned to 4 bytes only
        (1, tensor(0x10002, shape=(8,))),  # not even that
        (1, tensor(0x10000, shape=(8,), device=(dlpack.CUDA, 1))),
        (1, numpy.zeros(8, numpy.float32)),  # on the CPU
        (1, [0.0] * 8),
        (2, failing_tensor()),
        (2, tensor(0x20000, strides=(0, 1))),  # stored to, and rows share memory
        (3, "text"),
        (3, 1e39),
        (3, None),
        (4, 1.5),
        (4, 1 << 31),
    ],
)
def test_arguments_of_another_form_go_to_the_fallback(index, value):
    launcher, target, fallback = make()
    arguments = kernels.gpu_arguments()
    arguments[index] = value
    assert launcher(*arguments) == "fallback"
    assert fallback.calls == [(tuple(arguments), {})]
    assert target.num_launches == 0


def test_facts_that_a_form_was_chosen_for():
    launcher, general, fallback = make(facts=None)
    launcher(*kernels.gpu_arguments())
    assert (general.num_launches, len(fallback.calls)) == (1, 0)
    # The same code, chosen for arguments of which nothing was known: others get code of their own.
    launcher = Launcher(fallback, kernels.PARAMETERS, grid=1)
    weak = LocalFacts(
        [True, False, True, False, False], [16, 4, 16, 0, 0], [False, True, True, False, False]
    )
    target = RecordingTarget(kernels.artifact_of(facts=None), communicator=kernels.COMMUNICATOR)
    launcher.add(target, {"H": 8, "MODE": 1}, weak)
    arguments = kernels.gpu_arguments()
    launcher(*arguments)
    assert (target.num_launches, len(fallback.calls)) == (0, 1)
    arguments[1] = tensor(0x10004, shape=(8,), strides=(3,))
    launcher(*arguments)
    assert (target.num_launches, len(fallback.calls)) == (1, 1)


def maps(*mappable):
    return LocalFacts(
        [True, True, True, False, False], [16, 16, 16, 0, 0], [False, True, True, False, False],
        mappable,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mappable", "served"),
    [
        ([], [True, True]),
        ([True, True, True, False, False], [True, False]),
        ([False, True, True, False, False], [False, False]),
        ([False, True, False, False, False], [False, True]),
    ],
)
def test_a_form_for_what_tensor_maps_describe(mappable, served):
    answers = []
    for columns in (8, 6):
        launcher, target, fallback = make(facts=None, columns=columns)
        launcher = Launcher(fallback, kernels.PARAMETERS, grid=1)
        launcher.add(target, {"H": columns, "MODE": 1}, maps(*mappable))
        launcher(*kernels.gpu_arguments(columns=columns))
        answers.append(target.num_launches == 1)
    assert answers == served


def test_code_that_uses_tensor_maps_gets_what_they_describe():
    launcher, target, fallback = make(facts=maps(False, False, True, False, False))
    launcher(*kernels.gpu_arguments())
    assert (target.num_launches, len(fallback.calls)) == (1, 0)
    # What is contiguous and aligned, with rows of 24 bytes.
    launcher, target, fallback = make(facts=maps(False, False, True, False, False), columns=6)
    launcher(*kernels.gpu_arguments(columns=6))
    assert (target.num_launches, len(fallback.calls)) == (0, 1)
    launcher, target, fallback = make(facts=maps(True, False, False, False, False), columns=6)
    launcher(*kernels.gpu_arguments(columns=6))
    assert (target.num_launches, len(fallback.calls)) == (0, 1)


def test_without_facts_any_strides_and_alignment_are_served():
    launcher, target, _ = make(facts=None)
    arguments = kernels.gpu_arguments()
    arguments[1] = tensor(0x10004, shape=(8,), strides=(3,))
    launcher(*arguments)
    assert target.num_launches == 1
