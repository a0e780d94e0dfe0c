"""A kernel with every kind of argument, compiled as far as a launch needs to know it."""

import dlpack_structures as dlpack
import numpy
import tilewire as tw
from tilewire._tilewire import DType, LocalFacts, Window, describe
from tilewire.frontend.signature import ArrayArgument

GPU = "sm_90a:world=2,lsa=2,multimem=0,gin=0"
CPU = "cpu:world=2"
COMMUNICATOR = 0xC0


@tw.kernel
def scaled_sum(
    x: tw.Window["T", "H"],
    gain: tw.Tensor["H"],
    y: tw.Tensor["T", "H"],
    factor: tw.f32,
    count: tw.i32,
    *,
    H: tw.const,
    MODE: tw.const = 1,
):
    tw.barrier()
    for row in tw.persistent(T):
        acc = tw.zeros((H,), tw.f32)
        for r in tw.ranks():
            acc += tw.load(x.at(r)[row, :])
        tw.store(y[row, :], acc * tw.load(gain[:]) * (factor + count + MODE))
    tw.barrier()


PARAMETERS = [
    ("x", "window", ...),
    ("gain", "tensor", ...),
    ("y", "tensor", ...),
    ("factor", "scalar", ...),
    ("count", "scalar", ...),
    ("H", "constant", ...),
    ("MODE", "constant", 1),
]

# All arrays contiguous and aligned to 16 bytes; nothing is known of windows.
ALIGNED = LocalFacts([True, True, True, False, False], [16, 16, 16, 0, 0], [False] * 5)


def artifact_of(target=GPU, dtype=DType.f32, columns=8, mode=1, facts=ALIGNED, kernel=scaled_sum):
    """The artifact of `scaled_sum` without its code."""
    arguments = {
        "x": ArrayArgument("window", dtype, (None, columns)),
        "gain": ArrayArgument("tensor", DType.f32, (columns,)),
        "y": ArrayArgument("tensor", dtype, (None, columns)),
        "MODE": mode,
    }
    program = kernel.program(target, kernel.specialise(arguments))
    if facts is not None:
        program.set_facts(facts)
    return describe(program, tw.Target(target))


def gpu_window(shape=(4, 8), dtype=DType.f32, communicator=COMMUNICATOR, device_index=0):
    return Window(
        dtype=dtype,
        shape=shape,
        device="cuda",
        device_index=device_index,
        rank=0,
        copies=[0xAB0000, 0xCD0000],
        owner=None,
        communicator=communicator,
    )


def gpu_arguments(rows=4, columns=8, dtype=(dlpack.FLOAT, 32), window_dtype=DType.f32):
    """Window, gain, y, factor and count, as `scaled_sum` takes them."""
    return [
        gpu_window((rows, columns), window_dtype),
        dlpack.ExchangeTensor(0x10000, (dlpack.FLOAT, 32), (columns,)),
        dlpack.ExchangeTensor(0x20000, dtype, (rows, columns)),
        0.5,
        3,
    ]


def cpu_window(shape=(4, 8), rank=0, world=2, communicator=COMMUNICATOR, rotate=0):
    copies = [numpy.zeros(shape, numpy.float32) for _ in range(world)]
    window = Window(
        dtype=DType.f32,
        shape=shape,
        device="cpu",
        rank=rank,
        copies=[each.ctypes.data for each in copies],
        owner=copies,
        communicator=communicator,
        rotate=rotate,
    )
    return window, copies


def cpu_arguments(rows=4, columns=8):
    window, _ = cpu_window((rows, columns))
    gain = numpy.zeros(columns, numpy.float32)
    return [window, gain, numpy.zeros((rows, columns), numpy.float32), 0.5, 3]
