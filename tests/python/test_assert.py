"""`tw.assert_`: the exception on the CPU target, and what a GPU runs."""

from pathlib import Path

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def bounded(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], limit: tw.f32, *, H: tw.const):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.assert_(tile <= limit, "too large")
        tw.store(y[row, :], tile)


def failure(kernel, grid, *arguments):
    with pytest.raises(tw.DeviceAssertionError) as caught:
        kernel[grid](*arguments)
    return caught.value


def test_what_holds_changes_nothing():
    x = np.float32([[1, 2], [3, 4]])
    y = np.zeros_like(x)
    bounded[2](x, y, 4.0)
    assert (y == x).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32], ids=str)
def test_the_first_element_that_fails_is_named(dtype):
    x = np.array([[1, 2, 3], [4, 8, 9]], dtype)
    error = failure(bounded, 1, x, x.copy(), 5.0)
    assert error.message == "assertion failed: too large (program (0, 0, 0), element [1]: 8 <= 5)"
    assert error.file == __file__ and isinstance(error, tw.Error)
    assert "tw.assert_" in Path(__file__).read_text().splitlines()[error.line - 1]
    assert str(error).startswith(f"{__file__}:{error.line}: assertion failed")


@tw.kernel
def scalar(x: tw.Tensor["N"], y: tw.Tensor["N"]):
    tw.store(y[tw.program_id(0)], 1)
    value = tw.load(x[tw.program_id(0)])
    tw.assert_((value > 0) & (value < 10), None, value, tw.program_id(0))


def test_scalar_conditions_and_values():
    x, y = np.int64([1, 2, 11, 4]), np.zeros(4, np.int64)
    error = failure(scalar, 4, x, y)
    assert error.message == (
        "assertion failed: (value > 0) & (value < 10) (program (2, 0, 0): 11, 2)"
    )
    scalar[4](np.int64([1, 2, 3, 4]), y)  # the next launch is as any other
    assert (y == 1).all()


@tw.kernel
def waits(x: tw.Window["N"]):
    tw.barrier()
    tw.assert_(tw.load(x[0]) != 2)
    tw.barrier()


def test_a_rank_that_fails_ends_the_launch_of_all():
    with tw.init(virtual="3") as comm:
        x = comm.window((1,), tw.i32)
        for r in range(3):
            x.at(r)[...] = r
        error = failure(waits, 1, x)
    assert error.message.endswith("(rank 2, program (0, 0, 0): 2 != 2)")


def test_what_never_holds():
    @tw.kernel
    def f(x: tw.Tensor["N"], *, B: tw.const):
        tw.assert_(B > 3, "B is small")

    f[1](np.zeros(1, np.float32), B=4)
    with pytest.raises(tw.DeviceAssertionError, match="B is small"):
        f[1](np.zeros(1, np.float32), B=2)


def test_cuda(emitted):
    for architecture in ("sm_80", "sm_90a", "sm_120"):
        arguments = {"x": "bf16[?, 40]", "y": "bf16[?, 40]", "limit": tw.f32, "H": 40}
        text = emitted(bounded, architecture, "ptx", **arguments)
        assert "__assertfail" in text and "vprintf" in text
    text = emitted(bounded, "sm_90a", "cuda", **arguments)
    assert "too large (program (%d, %d, %d), element [%d]: %g <= %g)" in text


def test_refused(diagnose):
    def number(x: tw.Tensor["N"]):
        tw.assert_(tw.load(x[0]))  # error

    def message(x: tw.Tensor["N"]):
        tw.assert_(tw.load(x[0]) > 0, 7)  # error

    assert "takes a bool scalar or tile" in diagnose(number, x="f32[?]")[0]
    assert "text known at compile time" in diagnose(message, x="f32[?]")[0]
