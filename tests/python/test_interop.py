"""Arguments from other libraries, and windows that they share."""

import array

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def double(x: tw.Tensor["N"], y: tw.Tensor["N"]):
    for i in tw.persistent(N):
        tw.store(y[i], tw.load(x[i]) * 2)


def test_numpy_of_every_dtype():
    for dtype in ("int8", "uint16", "int64", "float16", "float32", "float64", ml_dtypes.bfloat16):
        x = np.arange(5).astype(dtype)
        y = np.zeros_like(x)
        double[1](x, y)
        np.testing.assert_array_equal(y, x * x.dtype.type(2))


def test_buffers_of_python():
    x, y = array.array("f", [1.0, 2.0]), array.array("f", [0.0, 0.0])
    double[1](x, memoryview(y))
    assert y.tolist() == [2.0, 4.0]


def test_dlpack_only():
    class OnlyDlpack:
        def __init__(self, held):
            self.held = held

        def __dlpack__(self, **arguments):
            return self.held.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.held.__dlpack_device__()

    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    double[1](OnlyDlpack(x), OnlyDlpack(y))
    assert (y == 2).all()


def test_torch_on_the_cpu():
    torch = pytest.importorskip("torch", reason="PyTorch is optional")
    x = torch.arange(6, dtype=torch.bfloat16)
    y = torch.zeros_like(x)
    double[1](x, y)
    assert torch.equal(y, x * 2)
    with tw.init(virtual="2") as comm:
        window = comm.window((4,), tw.bf16)
        shared = torch.from_dlpack(window)
        shared.fill_(3)
        assert (window.at(0) == 3).all() and (window.at(1) == 0).all()


def test_window_where_a_tensor_is_taken_is_this_ranks_copy():
    def main(comm):
        x = comm.window(4, tw.f32)
        x.numpy()[...] = comm.rank + 1
        y = np.zeros(4, np.float32)
        double[1](x, y)
        return y[0]

    assert tw.spawn(main, world="3") == [2.0, 4.0, 6.0]
