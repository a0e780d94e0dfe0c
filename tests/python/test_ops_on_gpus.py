"""The kernels of `tilewire.ops` compile for GPUs, with and without an epilogue."""

import pytest
import tilewire as tw
from ops_kernels import PROGRAMS, specialised
from ops_problems import PARTS
from role_loops import check_loops
from tilewire import _tilewire
from tilewire.ops.epilogue import Form
from tilewire.ops.kernels import collectives

FORMS = {"bare": Form(), "whole": Form(PARTS, "silu_and_mul")}


def compiled(kernel, arguments, target):
    return kernel.compile(target, specialised(kernel, arguments)).artifact


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles(name, form):
    make, arguments = PROGRAMS[name]
    artifact = compiled(make(FORMS[form]), arguments, "sm_90a:world=2")
    assert artifact.num_binary_bytes > 1000


@pytest.mark.parametrize("name", ["gemm_reduce_scatter", "all_gather_gemm", "gemm_all_reduce"])
def test_compiles_for_a_world_of_eight_and_other_gpus(name):
    make, arguments = PROGRAMS[name]
    for target in ("sm_90a:world=8", "sm_80:world=4", "sm_100a:world=2"):
        changed = {
            key: text.replace("[2,", f"[{target[-1]},") if isinstance(text, str) else text
            for key, text in arguments.items()
        }
        assert compiled(make(Form()), changed, target).num_binary_bytes > 1000


def test_all_gather_compiles():
    kernel = collectives.all_gather
    assert compiled(kernel, {"a": "bf16[?,?]", "full": "window:bf16[?,?]"}, "sm_90a:world=2")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [each for each in PROGRAMS if each.startswith(("gemm", "all_ga"))])
def test_on_hopper_operands_come_by_tma(name, form):
    """With ordinary arguments, of whole 16-byte words and in no window."""
    make, arguments = PROGRAMS[name]
    kernel, target = make(FORMS[form]), "sm_90a:world=2"
    program = kernel.program(target, specialised(kernel, arguments))
    program.assume_ordinary_facts()
    text = _tilewire.emit_stage(program, tw.Target(target), "cuda").decode()
    products = 2 if name == "all_gather_gemm" else 1
    assert text.count("tw::multiply<") == products and text.count("ring.fill()") == products
    assert "tw::matmul" not in text
    check_loops(text)
