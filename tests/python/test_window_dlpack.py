"""Windows shared with other frameworks: DLPack capsules, NumPy, and who keeps the memory."""

import ctypes
import gc
import weakref

import dlpack_structures as dlpack
import numpy
import pytest
import tilewire as tw
from tilewire._tilewire import DType, Window, read_argument

ml_dtypes = pytest.importorskip("ml_dtypes", reason="bf16 and fp8 arrays of NumPy need it")

CODES = {
    "bool": (dlpack.BOOL, 8),
    "i8": (dlpack.INT, 8),
    "i16": (dlpack.INT, 16),
    "i32": (dlpack.INT, 32),
    "i64": (dlpack.INT, 64),
    "u8": (dlpack.UINT, 8),
    "u16": (dlpack.UINT, 16),
    "u32": (dlpack.UINT, 32),
    "u64": (dlpack.UINT, 64),
    "e4m3": (dlpack.E4M3, 8),
    "e5m2": (dlpack.E5M2, 8),
    "f16": (dlpack.FLOAT, 16),
    "bf16": (dlpack.BFLOAT, 16),
    "f32": (dlpack.FLOAT, 32),
    "f64": (dlpack.FLOAT, 64),
}
NUMPY = {dtype: dtype.replace("f", "float").replace("i", "int") for dtype in CODES}
NUMPY |= {"bool": "bool", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "bf16": "bfloat16"}
NUMPY |= {f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}


class Memory:
    """Host memory for the copies of a window, whose end can be seen."""

    def __init__(self, num_bytes, world):
        self.copies = [numpy.zeros(num_bytes, numpy.uint8) for _ in range(world)]

    @property
    def addresses(self):
        return [copy.ctypes.data for copy in self.copies]


def make_window(dtype="f32", shape=(3, 4), rank=0, world=2):
    kind = getattr(DType, dtype)
    memory = Memory(int(numpy.prod(shape)) * kind.num_bytes, world)
    window = Window(
        dtype=kind, shape=shape, device="cpu", rank=rank, copies=memory.addresses, owner=memory
    )
    return window, memory


def make_gpu_window(dtype="bf16", device_index=1):
    return Window(
        dtype=getattr(DType, dtype),
        shape=(2, 8),
        device="cuda",
        device_index=device_index,
        rank=0,
        copies=[0xAB000, 0],
        owner=None,
    )


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", CODES)
def test_capsule_says_what_the_window_is(dtype, versioned):
    window, memory = make_window(dtype, (3, 4), rank=1)
    capsule = window.__dlpack__(max_version=(1, 0) if versioned else None)
    structure, name = dlpack.open_capsule(capsule)
    assert name == (b"dltensor_versioned" if versioned else b"dltensor")
    tensor = structure.tensor
    assert (tensor.dtype.code, tensor.dtype.bits) == CODES[dtype]
    assert tensor.dtype.lanes == 1
    assert (tensor.rank, tensor.shape[:2], tensor.strides[:2]) == (2, [3, 4], [4, 1])
    assert tensor.data == memory.addresses[1]
    assert tensor.byte_offset == 0
    assert (tensor.device.type, tensor.device.id) == (dlpack.CPU, 0)
    if versioned:
        assert structure.major == 1
        assert structure.flags == 0


def test_gpu_window():
    window = make_gpu_window()
    assert window.__dlpack_device__() == (dlpack.CUDA, 1)
    capsule = window.__dlpack__(stream=-1)
    structure, _ = dlpack.open_capsule(capsule)
    assert (structure.tensor.device.type, structure.tensor.device.id) == (dlpack.CUDA, 1)
    assert (structure.tensor.dtype.code, structure.tensor.data) == (dlpack.BFLOAT, 0xAB000)


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_nobody_consumes_lets_go(versioned):
    window, memory = make_window()
    alive = weakref.ref(memory)
    capsule = window.__dlpack__(max_version=(1, 0) if versioned else None)
    del window, memory
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("versioned", [True, False])
def test_a_consumer_keeps_the_memory_until_it_calls_the_deleter(versioned):
    window, memory = make_window()
    alive = weakref.ref(memory)
    capsule = window.__dlpack__(max_version=(1, 0) if versioned else None)
    structure = dlpack.consume_capsule(capsule)
    del window, memory, capsule
    gc.collect()
    assert alive() is not None
    structure.deleter(ctypes.addressof(structure))
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u64", "f16", "f32", "f64"])
def test_numpy_from_dlpack_shares_memory(dtype):
    window, _ = make_window(dtype)
    shared = numpy.from_dlpack(window)
    shared[...] = numpy.arange(12).reshape(3, 4)
    assert numpy.array_equal(window.numpy(), numpy.arange(12).reshape(3, 4))
    alive = weakref.ref(window)
    del window
    gc.collect()
    assert shared.sum() == 66
    del shared
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("dtype", CODES)
def test_numpy_method_has_the_right_dtype_and_shares_memory(dtype):
    window, memory = make_window(dtype)
    values = window.numpy()
    assert values.dtype.name == NUMPY[dtype]
    assert values.shape == (3, 4)
    values[2, 3] = 1
    assert memory.copies[0][-values.dtype.itemsize :].any()
    assert numpy.asarray(window).dtype == values.dtype


def test_copies_of_other_ranks():
    window, memory = make_window(rank=0)
    window.at(1).numpy()[...] = 7
    assert memory.copies[1].view(numpy.float32).tolist() == [7] * 12
    assert not memory.copies[0].any()
    assert numpy.from_dlpack(window.at(1)).sum() == 84
    with pytest.raises(tw.UserError, match="rank 2's copy of this window can't be reached"):
        window.at(2)
    with pytest.raises(tw.UserError, match="rank 1's copy of this window can't be reached"):
        make_gpu_window().at(1)


def test_zero_elements():
    window, _ = make_window(shape=(0, 4))
    assert numpy.from_dlpack(window).shape == (0, 4)


def test_window_is_an_argument_without_any_protocol():
    window, memory = make_window(rank=1)
    argument = read_argument(window, "x")
    assert (argument.kind, argument.dtype, argument.shape) == ("window", DType.f32, (3, 4))
    assert argument.address == memory.addresses[1]


def test_refusals():
    window, _ = make_window()
    with pytest.raises(BufferError, match="without a copy"):
        window.__dlpack__(dl_device=(dlpack.CUDA, 0))
    with pytest.raises(BufferError, match="never copied"):
        window.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="no stream"):
        window.__dlpack__(stream=1)
    window.__dlpack__(dl_device=(dlpack.CPU, 0), copy=False)
    with pytest.raises(tw.UserError, match=r"cuda:1.*torch.from_dlpack"):
        make_gpu_window().numpy()


def test_torch_from_dlpack_shares_memory():
    torch = pytest.importorskip("torch", reason="PyTorch isn't installed")
    for dtype in ("bf16", "f32", "e4m3", "i64"):
        window, memory = make_window(dtype)
        shared = torch.from_dlpack(window)
        assert tuple(shared.shape) == (3, 4)
        shared.fill_(1)
        assert memory.copies[0].any()


def test_parts_of_a_window():
    with tw.init(virtual="2") as comm:
        x = comm.window((4, 6), tw.f32)
        for rank in range(2):
            x.at(rank)[:] = numpy.arange(24).reshape(4, 6) + 100 * rank
        whole = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
        for key in (0, -1, (1, 2), slice(1, 3), (slice(None), slice(1, None, 2)), ..., (..., 3)):
            part = x[key]
            assert numpy.array_equal(part.numpy(), whole[key]) and part.rank == 0
            assert numpy.array_equal(numpy.asarray(part.at(1)), whole[key] + 100)
            assert part.shape == whole[key].shape
        assert numpy.array_equal(numpy.from_dlpack(x[1:3, ::2]), whole[1:3, ::2])
        assert numpy.array_equal(x[1:][0, 2:].numpy(), whole[1, 2:])
        x[2, 1:3].numpy()[:] = 7.0
        assert x.at(0)[2].tolist() == [12, 7, 7, 15, 16, 17]
        assert [row.numpy().tolist() for row in x] == x.at(0).tolist()
        assert x[2:2].numpy().shape == (0, 6)


def test_keys_that_are_no_part_of_a_window():
    with tw.init(virtual="2") as comm:
        x = comm.window((4, 6), tw.f32)
        for key in (4, -5, (0, 6), (0, 0, 0), (..., ...)):
            with pytest.raises(IndexError):
                x[key]
        for key in ("a", None, True, [0, 1], slice(None, None, -1)):
            with pytest.raises(tw.UserError):
                x[key]
        with pytest.raises(tw.UserError, match="rotating window has no view on the host"):
            comm.window(4, tw.f32, rotate=2)[0]
        part = x[1]
        comm.free(x)
        with pytest.raises(tw.UserError, match=r"given back by `comm\.free`"):
            part.numpy()


def test_a_rank_of_spawn_reaches_its_team():
    """As under torchrun, where no load of the host reaches another team's memory."""

    def main(comm):
        w, ready = comm.window((4,), tw.f32), comm.flag(4)
        w.numpy()[...] = comm.rank
        comm.barrier()
        mate, far = comm.rank ^ 1, (comm.rank + 2) % 4
        assert w.at(mate)[0] == mate and w[1:].at(mate).numpy()[0] == mate
        message = f"rank {far}'s copy of this window can't be reached from rank {comm.rank}"
        other = comm.window((4,), tw.f32)
        for reach in (
            lambda: w.at(far),
            lambda: w[1:].at(far),
            lambda: comm.copy(other, w.at(far)),
        ):
            with pytest.raises(tw.UserError, match=message):
                reach()
        with ready.fill() as fill:
            comm.copy(other, w.at(mate), then=fill[comm.rank])
            with pytest.raises(tw.UserError, match=f"rank {far}'s flags can't be reached"):
                comm.copy(other, w.at(mate), then=fill.at(far)[comm.rank])
        comm.barrier()

    tw.spawn(main, world="2x2")
    with tw.init(virtual="2x2") as comm:  # one controller sees all ranks
        w = comm.window((4,), tw.f32)
        assert [w.at(r).shape for r in range(4)] == [(4,)] * 4
