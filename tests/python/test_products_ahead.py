"""Products whose operands all threads copy to shared memory some iterations ahead, compiled for
GPUs without wgmma."""

import re

import pytest
import tilewire as tw
from cubin import stack_bytes
from matmul_kernels import matmul, matmul_through_registers
from tilewire import _tilewire

pytestmark = pytest.mark.skipif(
    any(each.name == "NVRTC" and each.problem for each in _tilewire.report_components()),
    reason="NVRTC is not installed",
)
USUAL = {"BM": "128", "BN": "128", "BK": "32", "STAGES": "4"}


def emitted(kernel, target, stage, dtype="bf16", result="bf16", **constants):
    arguments = {"a": f"{dtype}[?,?]", "b": f"{dtype}[?,?]", "c": f"{result}[?,?]", **constants}
    program = kernel.program(target, kernel.specialise_text(arguments))
    program.assume_ordinary_facts()
    return _tilewire.emit_stage(program, tw.Target(target), stage)


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120"])
def test_the_usual_tile_stays_in_registers(target):
    text = emitted(matmul, target, "cuda", **USUAL).decode()
    assert text.count("ring.copy<") == 4 and text.count("ring.await()") == 1
    assert "tw::multiply_slot<" in text and "tw::load<" not in text
    assert stack_bytes(emitted(matmul, target, "cubin", **USUAL)) == 0


@pytest.mark.parametrize(
    ("target", "dtype", "instruction"),
    [
        ("sm_80", "f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_80", "f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
        ("sm_80", "i8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
        ("sm_89", "e4m3", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
        ("sm_120", "e5m2", "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"),
    ],
)
def test_tensor_cores_multiply_what_cp_async_brought(target, dtype, instruction):
    result = "i32" if dtype == "i8" else "f32"
    ptx = emitted(matmul, target, "ptx", dtype, result, **USUAL).decode()
    assert instruction in ptx and "ldmatrix" in ptx
    assert re.search(r"cp\.async\.cg\.shared\.global \[[^]]*\], \[[^]]*\], 16;", ptx)


def test_only_sums_of_fp8_are_apart_from_the_accumulator():
    """As tensor cores have 14 bits for those, unless precision="fast" takes them."""
    for options, name in (({}, "multiply_slot_exactly"), ({"PRECISION": "fast"}, "multiply_slot")):
        text = emitted(matmul, "sm_89", "cuda", "e4m3", "f32", **USUAL, **options).decode()
        assert f"tw::{name}<" in text
    assert "tw::multiply_slot<" in emitted(matmul, "sm_89", "cuda", **USUAL).decode()


def test_what_must_stay_where_it_stands_goes_through_registers():
    text = emitted(matmul_through_registers, "sm_80", "cuda", **USUAL).decode()
    assert "tw::matmul<" in text and "ring" not in text


def test_a_wait_in_the_loop_guards_its_loads():
    @tw.kernel
    def f(a: tw.Window["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"], ready: tw.Flag):
        tile = tw.ds(0, 64)
        acc = tw.zeros((64, 64), tw.f32)
        for k in range(0, K, 32):
            tw.wait(ready[k // 32])
            x, y = tw.load(a[tile, tw.ds(k, 32)]), tw.load(b[tile, tw.ds(k, 32)])
            acc = tw.matmul(x, y.T, acc=acc)
        tw.store(c[tile, tile], acc)

    arguments = {"a": "window:bf16[?,?]", "b": "bf16[?,?]", "c": "f32[?,?]", "ready": "flag[64]"}
    program = f.program("sm_80:world=2", f.specialise_text(arguments))
    program.assume_ordinary_facts()
    text = _tilewire.emit_stage(program, tw.Target("sm_80:world=2"), "cuda").decode()
    assert text.index("tw::wait_flag<") < text.index("tw::load<") and "ring.copy<" not in text
