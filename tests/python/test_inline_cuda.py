"""`tw.inline_cuda`: its reference on the CPU target, its text in the CUDA kernel."""

from pathlib import Path

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def fast(x: tw.Tensor["N"], y: tw.Tensor["N"], *, N: tw.const):
    tile = tw.load(x[:])
    tw.store(y[:], tw.inline_cuda("__expf({0})", tile, reference=tw.exp))


@tw.kernel
def statements(x: tw.Tensor["N"], y: tw.Tensor["N"], k: tw.i32, *, N: tw.const):
    code = """
        unsigned bits = __float_as_uint({0});
        if ({1} > 0) { bits ^= 0x80000000u; }
        return __uint_as_float(bits);
    """
    tw.store(y[:], tw.inline_cuda(code, tw.load(x[:]), k, dtype=x.dtype))


@tw.kernel
def wrong(x: tw.Tensor["N"]):
    value = tw.inline_cuda(
        "{0} + no_such_name",
        tw.load(x[0]),
        dtype=tw.f32,
    )
    tw.store(x[0], value)


def test_the_reference_runs_on_the_cpu():
    x = np.linspace(-2, 2, 33, dtype=np.float32)
    y = np.full_like(x, -77)
    fast[1](x, y)
    assert np.allclose(y, np.exp(x.astype(np.float64)), rtol=1e-6)


def test_text_in_the_kernel(emitted):
    arguments = {"x": "bf16[64]", "y": "bf16[64]"}
    text = emitted(fast, "sm_90a", "cuda", **arguments)
    assert "return (__expf(x0));" in text and "tw::exp" not in text
    assert "struct InlineCuda {" in text and "float of(float x0)" in text
    for architecture in ("sm_80", "sm_100a", "sm_120"):
        assert "ex2.approx" in emitted(fast, architecture, "ptx", **arguments)


def test_statements(emitted):
    arguments = {"x": "f32[64]", "y": "f32[64]", "k": tw.i32}
    text = emitted(statements, "sm_90a", "cuda", **arguments)
    assert "if (x1 > 0) { bits ^= 0x80000000u; }" in text and "int32_t x1" in text
    assert "xor.b32" in emitted(statements, "sm_90a", "ptx", **arguments)


def test_errors_of_the_compiler_name_the_users_line(emitted):
    with pytest.raises(tw.BackendError) as caught:
        emitted(wrong, "sm_90a", "ptx", x="f32[?]")
    lines = Path(__file__).read_text().splitlines()
    line = next(i for i, each in enumerate(lines, 1) if each.strip() == '"{0} + no_such_name",')
    assert f'test_inline_cuda.py({line}): error: identifier "no_such_name"' in str(caught.value)


def test_own_lines_go_on_behind_the_users(emitted):
    text = emitted(fast, "sm_90a", "cuda", x="f32[64]", y="f32[64]")
    lines = text.splitlines()
    marks = [i for i, each in enumerate(lines, 1) if each.startswith("#line")]
    assert lines[marks[1] - 1] == f'#line {marks[1] + 1} "fast.cu"'


def test_without_a_reference_the_cpu_refuses():
    with pytest.raises(tw.UserError, match="the CPU can't run CUDA; give it reference="):
        wrong[1](np.zeros(1, np.float32))


def test_refused(diagnose, emitted):
    def no_dtype(x: tw.Tensor["N"]):
        tw.store(x[0], tw.inline_cuda("1"))  # error

    def view(x: tw.Tensor["N"]):
        tw.store(x[0], tw.inline_cuda("{0}", x, dtype=tw.f32))  # error

    def reference(x: tw.Tensor["N"]):
        tw.store(x[0], tw.inline_cuda("{0}", tw.load(x[0]), reference=3))  # error

    @tw.kernel
    def place(x: tw.Tensor["N"]):
        tw.store(x[0], tw.inline_cuda("{1}", tw.load(x[0]), dtype=tw.f32))

    assert "needs dtype=" in diagnose(no_dtype, x="f32[?]")[0]
    assert "takes tiles, scalars and numbers" in diagnose(view, x="f32[?]")[0]
    assert "a @tw.function or a function of tw" in diagnose(reference, x="f32[?]")[0]
    with pytest.raises(tw.UserError, match=r"\{1\} names an input, there are 1"):
        emitted(place, "sm_90a", "cuda", x="f32[?]")


@tw.function
def plus_one(x):
    return x + 1


@tw.kernel
def of_constants(x: tw.Tensor[5]):
    tw.store(x[0], tw.inline_cuda("{0} + 1.0f", 2.0, dtype=tw.f32, reference=plus_one))
    repeated = tw.inline_cuda("{0} + 1.0f", 2.0, dtype=tw.f32, shape=(4,), reference=plus_one)
    tw.store(x[tw.ds(1, 4)], repeated)


def test_constants_and_shapes(emitted):
    x = np.zeros(5, np.float32)
    of_constants[1](x)
    assert (x == 3).all()
    assert "inline_map<float, InlineCuda" in emitted(of_constants, "sm_90a", "cuda", x="f32[5]")
    assert "ret;" in emitted(of_constants, "sm_80", "ptx", x="f32[5]")


@tw.kernel
def of_function(
    x: tw.Tensor["N"], y: tw.Tensor["M"], z: tw.Tensor["N", "M"], *, N: tw.const, M: tw.const
):
    a, b = tw.load(x[:])[:, None], tw.load(y[:])[None, :]
    tw.store(z[:, :], tw.inline_cuda("{0} * {1} + 1.0f", a, b, reference=times_plus_one))


@tw.function
def times_plus_one(a, b):
    return plus_one(a * b)


def test_inputs_broadcast_and_functions_are_references(emitted):
    x, y = np.arange(3, dtype=np.float32), np.arange(4, dtype=np.float32)
    z = np.full((3, 4), np.nan, np.float32)
    of_function[1](x, y, z)
    assert (z == x[:, None] * y + 1).all()
    arguments = {"x": "f32[3]", "y": "f32[4]", "z": "f32[3, 4]"}
    assert "x0 * x1 + 1.0f" in emitted(of_function, "sm_90a", "cuda", **arguments)
