"""Arrays of every protocol as kernel arguments."""

import array
import ctypes
import types

import dlpack_structures as dlpack
import numpy
import pytest
import tilewire as tw
from tilewire._tilewire import read_argument

ml_dtypes = pytest.importorskip("ml_dtypes", reason="bf16 and fp8 arrays of NumPy need it")

NUMPY_DTYPES = [
    (numpy.bool_, tw.DType.bool),
    (numpy.int8, tw.DType.i8),
    (numpy.int16, tw.DType.i16),
    (numpy.int32, tw.DType.i32),
    (numpy.int64, tw.DType.i64),
    (numpy.uint8, tw.DType.u8),
    (numpy.uint16, tw.DType.u16),
    (numpy.uint32, tw.DType.u32),
    (numpy.uint64, tw.DType.u64),
    (ml_dtypes.float8_e4m3fn, tw.DType.e4m3),
    (ml_dtypes.float8_e5m2, tw.DType.e5m2),
    (numpy.float16, tw.DType.f16),
    (ml_dtypes.bfloat16, tw.DType.bf16),
    (numpy.float32, tw.DType.f32),
    (numpy.float64, tw.DType.f64),
]
X = "kernel `f`: argument `x`"


def read(value, **keywords):
    return read_argument(value, X, **keywords)


def message_of(value):
    with pytest.raises(tw.UserError) as caught:
        read(value)
    return caught.value.message


@pytest.mark.parametrize(("numpy_dtype", "dtype"), NUMPY_DTYPES)
def test_every_numpy_dtype(numpy_dtype, dtype):
    values = numpy.zeros((3, 5), numpy_dtype)
    argument = read(values)
    assert argument.kind == "array"
    assert argument.dtype == dtype
    assert argument.shape == (3, 5)
    assert argument.strides == (5, 1)
    assert argument.device == "cpu"
    assert argument.address == values.ctypes.data
    assert argument.contiguous
    assert not argument.read_only


def test_strides_are_in_elements_and_may_be_negative_or_zero():
    base = numpy.arange(24, dtype=numpy.int16).reshape(4, 6)
    assert read(base[::2, ::-1]).strides == (12, -1)
    assert read(numpy.broadcast_to(base[:1], (4, 6))).strides == (0, 1)
    assert read(base.T).strides == (1, 6)
    assert not read(base.T).contiguous


def test_strides_of_extents_0_and_1_do_not_count():
    base = numpy.zeros((4, 6), numpy.float32)
    assert read(base[:1]).contiguous
    assert read(base[:, :1][:1]).contiguous
    assert read(base[:0, ::2]).contiguous
    assert not read(base[:, :1]).contiguous


def test_rank_0():
    argument = read(numpy.zeros((), numpy.float32))
    assert (argument.kind, argument.shape, argument.contiguous) == ("array", (), True)


def test_alignment_is_a_power_of_two_up_to_16():
    memory = numpy.zeros(80, numpy.uint8)
    start = -memory.ctypes.data % 16
    found = [read(memory[start + i :]).alignment for i in (0, 1, 2, 4, 8, 12, 16, 32)]
    assert found == [16, 1, 2, 4, 8, 4, 16, 16]


def test_read_only_numpy():
    values = numpy.zeros(4, numpy.float32)
    values.setflags(write=False)
    assert read(values).read_only


@pytest.mark.parametrize(
    ("value", "dtype", "shape", "read_only"),
    [
        (b"abc", "u8", (3,), True),
        (bytearray(4), "u8", (4,), False),
        (array.array("d", [1, 2]), "f64", (2,), False),
        (array.array("q", [1, 2, 3]), "i64", (3,), False),
        ((ctypes.c_int32 * 3)(), "i32", (3,), False),
        (memoryview(numpy.zeros((2, 3), numpy.uint16)), "u16", (2, 3), False),
        (memoryview(b"abcd").cast("I"), "u32", (1,), True),
    ],
)
def test_buffer_protocol(value, dtype, shape, read_only):
    argument = read(value)
    assert (argument.dtype.name, argument.shape) == (dtype, shape)
    assert argument.read_only == read_only


def test_a_buffer_stays_locked_while_the_argument_lives():
    values = bytearray(8)
    argument = read(values)
    with pytest.raises(BufferError):
        values.extend(b"more")
    del argument
    values.extend(b"more")


def test_exchange_api():
    tensor = dlpack.ExchangeTensor(0x1238, (dlpack.BFLOAT, 16), (2, 3), (8, 1), (dlpack.CUDA, 3))
    argument = read(tensor)
    assert argument.dtype == tw.DType.bf16
    assert (argument.shape, argument.strides) == ((2, 3), (8, 1))
    assert (argument.device, argument.address, argument.alignment) == ("cuda:3", 0x1238, 8)


def test_exchange_api_serves_subclasses():
    class Parameter(dlpack.ExchangeTensor):
        pass

    assert read(Parameter()).dtype == tw.DType.f32


def test_exchange_api_that_fails():
    tensor = dlpack.ExchangeTensor()
    tensor.fails = True
    assert message_of(tensor) == (
        f"{X}: dlpack_structures.ExchangeTensor can't be read as an array: "
        "DLPack export failed: no reason given"
    )


@pytest.mark.parametrize("major", [0, 2])
def test_exchange_api_of_another_major_version_is_not_used(major):
    api = dlpack.ExchangeApi(major, 0, None, None, None, None)
    other = type("Other", (), {})
    other.__dlpack_c_exchange_api__ = dlpack.new_capsule(api, b"dlpack_exchange_api")
    assert "expected a window or an array" in message_of(other())


def test_exchange_api_finds_its_version_in_the_chain():
    newer = dlpack.ExchangeApi(2, 0, ctypes.addressof(dlpack.API))
    other = type("Other", (dlpack.ExchangeTensor,), {})
    other.__dlpack_c_exchange_api__ = dlpack.new_capsule(newer, b"dlpack_exchange_api")
    assert read(other()).dtype == tw.DType.f32


def test_an_attribute_that_is_no_capsule_is_not_the_exchange_api():
    other = type("Other", (), {"__dlpack_c_exchange_api__": 0x1234})
    assert "expected a window or an array" in message_of(other())


@pytest.mark.parametrize("versioned", [True, False])
def test_capsule(versioned):
    tensor = dlpack.CapsuleTensor(0x1000, (dlpack.E4M3, 8), (4, 2), versioned=versioned)
    argument = read(tensor, stream=0x77)
    assert argument.dtype == tw.DType.e4m3
    assert argument.address == 0x1000 + 16  # the byte offset
    assert argument.strides == (2, 1)  # null in old producers: contiguous
    assert tensor.asked[-1]["stream"] == 0x77
    assert ("max_version" in tensor.asked[-1]) == versioned


def test_capsule_is_asked_for_the_right_stream():
    tensor = dlpack.CapsuleTensor(0x1000, (dlpack.FLOAT, 32), (4,))
    read(tensor, stream=0)
    assert tensor.asked[-1]["stream"] == 1  # the legacy default stream; 0 is ambiguous
    read(tensor)
    assert tensor.asked[-1]["stream"] == -1  # no synchronisation
    on_cpu = dlpack.CapsuleTensor(0x1000, (dlpack.FLOAT, 32), (4,), (dlpack.CPU, 0))
    read(on_cpu, stream=0x77)
    assert "stream" not in on_cpu.asked[-1]


def test_capsule_flags():
    tensor = dlpack.CapsuleTensor(0x1000, (dlpack.FLOAT, 32), (4,), flags=dlpack.READ_ONLY)
    assert read(tensor).read_only


def test_capsule_of_another_major_version():
    tensor = dlpack.CapsuleTensor(0x1000, (dlpack.FLOAT, 32), (4,))
    tensor.structure.major = 2
    assert message_of(tensor).endswith("it speaks DLPack 2, tilewire 1")


def test_cuda_array_interface():
    interface = {"shape": (2, 3), "typestr": "<f4", "data": (0x2000, True), "version": 3}
    argument = read(types.SimpleNamespace(__cuda_array_interface__=interface))
    assert (argument.dtype, argument.shape, argument.strides) == (tw.DType.f32, (2, 3), (3, 1))
    assert (argument.device, argument.read_only) == ("cuda", True)
    interface["strides"] = (24, 8)
    strided = read(types.SimpleNamespace(__cuda_array_interface__=interface))
    assert strided.strides == (6, 2)


def test_cuda_array_interface_of_bf16_takes_the_objects_own_dtype():
    interface = {"shape": (2,), "typestr": "<V2", "data": (0x2000, False), "version": 2}
    value = types.SimpleNamespace(__cuda_array_interface__=interface, dtype="torch.bfloat16")
    assert read(value).dtype == tw.DType.bf16


def test_numbers_are_scalars():
    for value in (1, 2.5, True, numpy.float32(1), numpy.int8(3), numpy.bool_(True)):
        assert read(value).kind == "scalar"
    assert read(ml_dtypes.bfloat16(1)).kind == "scalar"


@pytest.mark.parametrize("value", [None, "text", [1.0, 2.0], {}, object()])
def test_what_is_no_array(value):
    assert message_of(value) == (
        f"{X}: expected a window or an array, got {type(value).__name__}; arrays are objects with "
        "DLPack, the buffer protocol or `__cuda_array_interface__`: of PyTorch, NumPy, CuPy, JAX, …"
    )


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (numpy.zeros(2, numpy.complex64), "complex64"),
        (numpy.zeros(2, ">f4"), ">f4"),
        (numpy.zeros(2, "U3"), "<U3"),
    ],
)
def test_unknown_dtype(value, dtype):
    assert message_of(value) == (
        f"{X}: numpy.ndarray has dtype {dtype}, tilewire's are bool, i8, i16, i32, i64, u8, u16, "
        "u32, u64, e4m3, e5m2, f16, bf16, f32, f64"
    )


def test_unknown_dlpack_dtype():
    tensor = dlpack.CapsuleTensor(0x1000, (dlpack.COMPLEX, 64), (4,))
    assert "has dtype code 5, bits 64, lanes 1" in message_of(tensor)


def test_unknown_device():
    tensor = dlpack.CapsuleTensor(0x1000, (dlpack.FLOAT, 32), (4,), (dlpack.ROCM, 0))
    assert message_of(tensor).endswith(
        "is neither in CPU nor in CUDA memory (DLPack device type 10)"
    )


def test_too_many_dimensions():
    assert message_of(numpy.zeros((1,) * 9)).endswith("has rank 9, at most 8 is possible")


def test_strides_between_elements():
    pairs = numpy.zeros(4, numpy.dtype([("a", numpy.int8), ("b", numpy.int16)]))
    assert message_of(pairs["b"]).endswith(
        "has strides that are no whole numbers of elements; pass a copy"
    )


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch isn't installed")
    for name, dtype in [("float32", "f32"), ("bfloat16", "bf16"), ("float8_e4m3fn", "e4m3")]:
        values = torch.zeros(3, 4, dtype=getattr(torch, name))
        argument = read(values.T)
        assert (argument.dtype.name, argument.shape, argument.strides) == (dtype, (4, 3), (1, 4))
        assert argument.address == values.data_ptr()
