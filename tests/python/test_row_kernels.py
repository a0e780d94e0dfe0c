"""Kernels over rows: right on the CPU target; as CUDA, no local memory and vectors of 16 bytes."""

import math
import re

import numpy as np
import pytest
import row_kernels
import tilewire as tw
from cubin import stack_bytes
from norm_program import allreduce_rmsnorm
from op_cases.case import Case, aligned
from op_cases.run import emit
from tilewire import _tilewire
from tilewire.frontend.signature import ArrayArgument
from tilewire.types import to_numpy_dtype

BF16 = to_numpy_dtype(tw.bf16)
KERNELS = ("softmax", "layer_norm", "rms_norm", "gelu_bias", "row_sum")
EPS = 1e-5
# Large rows, small rows in blocks, and a shape that nothing divides.
SHAPES = ((8192, 8192, 1), (8192, 8192, 2), (4096, 128, 16), (33, 1000, 4), (33, 1003, 2))


def arguments_of(name, T, H):
    random = np.random.default_rng(T * H)

    def values(*shape):
        return aligned(random.standard_normal(shape).astype(BF16))

    given = {"x": values(T, H)}
    if name in ("layer_norm", "rms_norm"):
        given["gain"] = values(H)
    if name in ("layer_norm", "gelu_bias"):
        given["bias"] = values(H)
    given["y"] = aligned(np.full(T if name == "row_sum" else (T, H), np.nan, BF16))
    if name in ("layer_norm", "rms_norm"):
        given["eps"] = EPS
    return given


def expected(name, x, gain=None, bias=None):
    x, gain, bias = (None if v is None else v.astype(np.float64) for v in (x, gain, bias))
    if name == "softmax":
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    if name == "layer_norm":
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + EPS) * gain + bias
    if name == "rms_norm":
        return x / np.sqrt((x * x).mean(1, keepdims=True) + EPS) * gain
    if name == "gelu_bias":
        erf = np.vectorize(math.erf, otypes=[np.float64])
        return (x + bias) / 2 * (1 + erf((x + bias) / math.sqrt(2)))
    return x.sum(1)


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("shape", [(33, 100), (8, 128)])
@pytest.mark.parametrize("name", KERNELS)
def test_is_right_on_the_cpu(name, shape, rows):
    given = arguments_of(name, *shape)
    getattr(row_kernels, name)[tw.auto](**given, ROWS=rows)
    inputs = {k: v for k, v in given.items() if k in ("x", "gain", "bias")}
    right = expected(name, **inputs)
    assert np.all(np.abs(given["y"].astype(np.float64) - right) <= 2.0**-8 * np.abs(right) + 1e-4)


def emitted(name, T, H, rows, stage):
    if problem := {each.name: each.problem for each in _tilewire.report_components()}["NVRTC"]:
        pytest.skip(f"NVRTC: {problem}")
    case = Case(
        name, getattr(row_kernels, name), (), lambda make: arguments_of(name, T, H), None,
        constants={"ROWS": rows},
    )  # fmt: skip
    return emit(case, tw.bf16, "sm_90a", stage)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_uses_no_local_memory(name, shape):
    assert stack_bytes(emitted(name, *shape, "cubin")) == 0


def test_the_fused_all_reduce_uses_no_local_memory():
    given = {
        "x": ArrayArgument("window", tw.bf16, (None, 8192)),
        "gain": ArrayArgument("tensor", tw.bf16, (8192,)),
        "y": ArrayArgument("tensor", tw.bf16, (None, 8192)),
    }
    target = tw.Target("sm_90a:world=2")
    program = allreduce_rmsnorm.program(target, allreduce_rmsnorm.specialise(given))
    alike = [True, True, True, False]
    program.set_facts(_tilewire.LocalFacts(alike, [16, 16, 16, 4], [False, True, True, False]))
    assert stack_bytes(_tilewire.emit_stage(program, target, "cubin")) == 0


@pytest.mark.parametrize("shape", [each for each in SHAPES if each[1] % 8 == 0], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_moves_in_vectors_of_16_bytes(name, shape):
    T, H, rows = shape
    ptx = emitted(name, *shape, "ptx").decode()
    ptx = ptx[ptx.index(".visible .entry") :]
    loads = re.findall(r"ld\.global\S*", ptx)
    assert loads and all(re.fullmatch(r"ld\.global\.v4\.[bu]32", load) for load in loads), loads
    stores = re.findall(r"st\.global\S*", ptx)
    if name != "row_sum":  # one number per row
        assert all(re.fullmatch(r"st\.global\.v4\.[bu]32", store) for store in stores), stores


@pytest.mark.parametrize("name", KERNELS)
def test_rows_of_a_warp_need_no_shared_memory(name):
    text = emitted(name, 4096, 128, 16, "cuda").decode()
    assert "shared" not in text


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_that_are_proven_inside_have_no_masks(name):
    assert "masked_dim" not in emitted(name, 8192, 8192, 1, "cuda").decode()
    assert "masked_dim<4>" in emitted(name, 33, 1000, 4, "cuda").decode()
