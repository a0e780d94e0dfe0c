"""Arguments bound to a kernel's parameters: slots of the CPU kernels, and every refusal."""

import struct

import launch_kernels as kernels
import numpy
import pytest
import tilewire as tw
from tilewire._tilewire import DType, LocalFacts, facts_of, pack_cpu_arguments, read_argument


def pack(values, **artifact):
    return pack_cpu_arguments(kernels.artifact_of(kernels.CPU, **artifact), values)


def message_of(values, **artifact):
    with pytest.raises(tw.UserError) as caught:
        pack(values, **artifact)
    return caught.value.message


def float_bits(value):
    return struct.unpack("I", struct.pack("f", value))[0]


def test_slots():
    window, copies = kernels.cpu_window((4, 8), rank=1)
    gain, y = numpy.zeros(8, numpy.float32), numpy.zeros((4, 8), numpy.float32)
    packed = pack([window, gain, y, 0.5, -3])
    x_slot, *others = packed.slots
    bases = numpy.frombuffer((numpy.ctypeslib.ctypes.c_uint64 * 2).from_address(x_slot), "u8")
    assert bases.tolist() == [each.ctypes.data for each in copies]
    assert others[:4] == [gain.ctypes.data, y.ctypes.data, float_bits(0.5), 0xFFFFFFFD]
    assert others[4] == 4  # T
    assert packed.dimensions == [4]


def test_strides_of_what_is_not_contiguous():
    values = kernels.cpu_arguments()
    values[2] = numpy.zeros((4, 32), numpy.float32)[:, ::-2][:, :8]
    facts = facts_of([read_argument(each, "x") for each in values])
    assert facts.contiguous == [True, True, False, False, False]
    packed = pack(values, facts=facts)
    assert numpy.array(packed.slots[5:7], numpy.uint64).view(numpy.int64).tolist() == [32, -2]


def test_facts():
    memory = numpy.zeros(64, numpy.float32)
    start = -memory.ctypes.data % 16 // 4
    arguments = [memory[start:], memory[start + 1 :], memory[start + 2 :], memory[start::2], 3]
    facts = facts_of([read_argument(each, "x") for each in arguments])
    assert facts.contiguous == [True, True, True, False, False]
    assert facts.alignment == [16, 4, 8, 16, 0]
    assert facts.mappable == [True, False, False, False, False]
    fields = facts.contiguous, facts.alignment, facts.local_only, facts.mappable
    assert facts == LocalFacts(*fields)
    assert hash(facts) == hash(LocalFacts(*fields))
    assert facts != LocalFacts()
    assert facts.without_maps() == LocalFacts(*fields[:3])
    assert facts.without_maps() != facts


def test_what_tensor_maps_can_describe():
    memory = numpy.zeros(4096, numpy.float16)
    memory = memory[-memory.ctypes.data % 16 // 2 :]
    wide, narrow = memory[:640].reshape(10, 64), memory[:600].reshape(10, 60)
    windows = [kernels.cpu_window((4, columns))[0] for columns in (8, 6)]
    windows += [kernels.cpu_window((4, columns), rotate=2)[0] for columns in (8, 6)]
    arguments = [wide, wide[:, :61], narrow, wide[1:], wide[:, 1:], wide.T, wide[::2, ::2]]
    facts = facts_of([read_argument(each, "x") for each in [*arguments, *windows]])
    of_arrays = [True, True, False, True, False, False, False]
    assert facts.mappable == of_arrays + [True, False] * 2


def test_code_for_tensor_maps_is_not_run_without():
    values = kernels.cpu_arguments(columns=6)
    facts = facts_of([read_argument(each, "x") for each in values])
    assert not facts.mappable[0]
    assumed = LocalFacts([], [], [], [True, False, False, False, False])
    with pytest.raises(tw.InternalError, match="other strides or alignment"):
        pack(values, columns=6, facts=assumed)


def test_code_for_other_facts_is_an_internal_error():
    values = kernels.cpu_arguments()
    values[1] = numpy.zeros(16, numpy.float32)[::2]
    with pytest.raises(tw.InternalError, match="other strides or alignment"):
        pack(values)


def test_the_arguments_live_as_long_as_their_slots():
    values = kernels.cpu_arguments()
    values[1] = memoryview(bytearray(32)).cast("f")
    packed = pack(values, facts=None)
    with pytest.raises(BufferError):
        values[1].release()
    del packed
    values[1].release()


K = "kernel `scaled_sum`: "


@pytest.mark.parametrize(
    ("index", "value", "text"),
    [
        (0, numpy.zeros((4, 8), numpy.float32),
         "argument `x`: expected a window, made by `comm.window(…)`, got numpy.ndarray"),
        (1, numpy.zeros(8, numpy.float64), "argument `gain`: expected dtype f32, got f64"),
        (1, numpy.zeros((1, 8), numpy.float32),
         "argument `gain`: expected rank 1 [8], got rank 2 [1, 8]"),
        (1, numpy.zeros(9, numpy.float32),
         "argument `gain`: expected 8 in dimension 0 of [8], got 9 (shape [9])"),
        (1, 2.0, "argument `gain`: expected an array f32[8], got float"),
        (2, numpy.zeros((5, 8), numpy.float32),
         "dimension `T` is 4 in argument `x` (dimension 0) but 5 in argument `y` (dimension 0)"),
        (2, numpy.zeros((4, 9), numpy.float32),
         "argument `y`: expected 8 in dimension 1 of [T, 8], got 9 (shape [4, 9])"),
        (2, numpy.broadcast_to(numpy.zeros(8, numpy.float32), (4, 8)),
         "argument `y` is read-only, and the kernel stores to it; pass a writable array"),
        (2, numpy.lib.stride_tricks.as_strided(numpy.zeros(8, numpy.float32), (4, 8), (0, 4)),
         "argument `y` has elements that share an address (a stride of 0, shape [4, 8]), and the "
         "kernel stores to it; pass a copy"),
        (1, numpy.zeros(33, numpy.uint8)[1:].view(numpy.float32),
         "argument `gain` is not aligned to its elements of 4 bytes; pass a copy"),
        (3, "half", "argument `factor`: expected a number for f32, got str"),
        (4, 1 << 31, "argument `count`: 2147483648 does not fit i32 (-2147483648 to 2147483647)"),
        (4, 0.5, "argument `count`: expected an integer for i32, got float 0.5"),
    ],
)  # fmt: skip
def test_refusals(index, value, text):
    values = kernels.cpu_arguments()
    values[index] = value
    assert message_of(values, facts=None) == K + text


def test_read_only_arrays_may_be_read():
    values = kernels.cpu_arguments()
    values[1].setflags(write=False)
    pack(values)


def test_number_of_arguments():
    assert message_of(kernels.cpu_arguments()[:4]) == (
        "kernel `scaled_sum` takes 5 arguments besides its constants, got 4"
    )


def test_memory_of_another_device():
    values = kernels.cpu_arguments()
    values[1] = kernels.gpu_arguments()[1]
    assert message_of(values) == (
        K + "argument `gain` is on cuda:0, but this launch runs on the CPU"
    )


@tw.kernel
def two_windows(x: tw.Window["N"], y: tw.Window["N"]):
    tw.store(x[0], tw.load(y[0]))


def test_windows_of_two_communicators():
    from tilewire._tilewire import describe
    from tilewire.frontend.signature import ArrayArgument

    window = ArrayArgument("window", DType.f32, (None,))
    program = two_windows.program(kernels.CPU, two_windows.specialise({"x": window, "y": window}))
    artifact = describe(program, tw.Target(kernels.CPU))
    x, _ = kernels.cpu_window((4,))
    y, _ = kernels.cpu_window((4,), communicator=0xC1)
    with pytest.raises(tw.UserError) as caught:
        pack_cpu_arguments(artifact, [x, y])
    assert caught.value.message == (
        "kernel `two_windows`: arguments `x` and `y` are windows of two communicators; one launch "
        "takes those of one"
    )
    pack_cpu_arguments(artifact, [x, x])
