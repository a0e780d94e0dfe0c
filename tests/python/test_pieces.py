"""Kernels of products spill no registers: what is added to large tiles comes in pieces, places of
elements are computed again, and roles divide the registers by what they do."""

import pytest
import tilewire as tw
from cubin import stack_bytes
from ops_kernels import PROGRAMS, specialised
from ops_problems import PARTS
from tilewire import _tilewire
from tilewire.ops.epilogue import Form
from tilewire.ops.tiling import Tiling

LARGE = Tiling(128, 256, 64, 4).constants()
FORMS = {
    "bare": Form(),
    "scales": Form(("scale", "row_scale", "column_scale")),
    "bias": Form(("bias",)),
    "bias, gelu": Form(("bias",), "gelu"),
    "residual": Form(("residual",)),
    "silu_and_mul": Form((), "silu_and_mul"),
    "all, silu_and_mul": Form(PARTS, "silu_and_mul"),
    "all, gelu": Form(PARTS, "gelu"),
    "all, gelu_tanh": Form(PARTS, "gelu_tanh"),
}


def emit(kernel, arguments, stage, world=2):
    target = f"sm_90a:world={world}"
    program = kernel.program(target, arguments)
    program.assume_ordinary_facts()
    return _tilewire.emit_stage(program, tw.Target(target), stage)


ALL_GATHERS = [(form, 2, push) for form in FORMS for push in (0, 16)]
ALL_GATHERS += [(form, 8, 16) for form in ("bare", "all, silu_and_mul")]


@pytest.mark.parametrize("form,world,push", ALL_GATHERS)
def test_all_gathers(form, world, push):
    make, arguments = PROGRAMS["all_gather_gemm"]
    kernel = make(FORMS[form])
    given = {
        name: text.replace("[2,", f"[{world},") if isinstance(text, str) else text
        for name, text in (arguments | LARGE | {"PUSH": push}).items()
    }
    assert stack_bytes(emit(kernel, specialised(kernel, given), "cubin", world)) == 0


@tw.kernel
def scaled_and_biased(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    scale: tw.Tensor["N"], bias: tw.Tensor["N"], c: tw.Tensor["M", "N"], *, BN: tw.const
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, BN)):
        product = tw.matmul(a[t.m, :], b[t.n, :].T)
        scaled = product * tw.load(scale[t.n])[None, :]
        tw.store(c[t.m, t.n], scaled + tw.load(bias[t.n])[None, :])


@tw.kernel
def with_residual(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    residual: tw.Tensor["M", "N"], c: tw.Tensor["M", "N"], log: tw.Tensor["M", "N"],
    *, TWICE: tw.const, LOGS: tw.const
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 256)):
        product = tw.matmul(a[t.m, :], b[t.n, :].T)
        term = tw.load(residual[t.m, t.n])
        if LOGS:
            tw.store(log[t.m, t.n], product)  # which may be what was read
        result = product + term
        if TWICE:
            result = tw.maximum(result, term)
        tw.store(c[t.m, t.n], result)


@tw.kernel
def softmax(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    c: tw.Tensor["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 256)):
        product = tw.matmul(a[t.m, :], b[t.n, :].T)
        powers = tw.exp(product - tw.max(product, axis=1)[:, None])
        tw.store(c[t.m, t.n], powers / tw.sum(powers, axis=1)[:, None])


@tw.kernel
def product(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    c: tw.Tensor["M", "N"]
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 128, 256)):
        tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T))


MATRICES = {name: "bf16[?,?]" for name in ("a", "b", "c", "residual", "log")}
FP8 = {"a": "e4m3[?,?]", "b": "e4m3[?,?]", "c": "f32[?,?]"}


def arguments_of(kernel, **texts):
    names = [each.name for each in kernel.signature.parameters]
    given = {name: str(text) for name, text in (MATRICES | texts).items() if name in names}
    return kernel.specialise_text(given)


ALONE = {
    "scales of f32": (scaled_and_biased, {"scale": "f32[?]", "bias": "f32[?]", "BN": 256}),
    "residual": (with_residual, {"TWICE": 0, "LOGS": 0}),
    "residual of f32": (with_residual, {"residual": "f32[?,?]", "TWICE": 0, "LOGS": 0}),
    "softmax": (softmax, {}),
    "plain": (product, {}),
    "exact fp8": (product, FP8),
}


@pytest.mark.parametrize("name", ALONE)
def test_products_alone(name):
    kernel, texts = ALONE[name]
    assert stack_bytes(emit(kernel, arguments_of(kernel, **texts), "cubin", 1)) == 0


def text_of(kernel, world=1, **texts):
    return emit(kernel, arguments_of(kernel, **texts), "cuda", world).decode()


def test_what_is_added_to_large_tiles_comes_in_pieces():
    scales = {"scale": "f32[?]", "bias": "f32[?]"}
    assert text_of(scaled_and_biased, **scales, BN=256).count("tw::columns_in_pieces<") == 2
    assert "rows_in_pieces<" in text_of(with_residual, TWICE=0, LOGS=0)
    small = text_of(scaled_and_biased, **scales, BN=128)
    assert small.count("tw::columns_in_pieces<") == 2 and "TILEWIRE_FEW_REGISTERS" not in small
    plain = text_of(product)
    assert "in_pieces" not in plain and "TILEWIRE_FEW_REGISTERS" not in plain


def test_what_is_read_twice_or_may_change_comes_whole():
    """A piece is there once, and is read later than the load stands."""
    assert "load_rows<" in text_of(with_residual, TWICE=1, LOGS=0)
    logs = text_of(with_residual, TWICE=0, LOGS=1)
    assert "load_rows<" in logs and "in_pieces" not in logs


def test_a_producer_that_waits_has_more_registers():
    make, arguments = PROGRAMS["all_gather_gemm"]
    kernel = make(Form())
    text = emit(kernel, specialised(kernel, arguments | LARGE), "cuda").decode()
    assert "tw::give_registers<kThreads, 88>();" in text
    assert "tw::take_registers<kThreads, 88>();" in text
    assert "tw::give_registers<kThreads>();" in text_of(product)


MOVERS = {
    ("gemm_reduce_scatter", "bare"): (0, 88),
    ("gemm_reduce_scatter", "bias, gelu"): (0, 72),
    ("gemm_reduce_scatter", "silu_and_mul"): (0, 88),
    ("gemm_reduce_scatter", "all, gelu"): (160, 72),
    ("gemm_all_reduce", "bare"): (0, 88),
    ("gemm_all_reduce", "silu_and_mul"): (0, 88),
    ("gemm_all_reduce", "all, gelu"): (160, 72),
}


@pytest.mark.parametrize("op,form", MOVERS)
def test_kernels_with_a_mover(op, form):
    """With all parts of an epilogue they spill a little."""
    make, arguments = PROGRAMS[op]
    kernel = make(FORMS[form])
    given = specialised(kernel, arguments | LARGE)
    text = emit(kernel, given, "cuda").decode()
    most, registers = MOVERS[op, form]
    assert "tw::Mover<" in text and f"tw::give_registers<kThreads, {registers}>();" in text
    assert ("tw::columns_in_pieces<" in text) == (registers == 72)
    assert stack_bytes(emit(kernel, given, "cubin")) <= most
