"""The producer's loops, as CUDA text says: places of tiles are found in front of them."""

import pytest
import tilewire as tw
from matmul_kernels import matmul
from op_cases import CASES
from op_cases.run import emit
from role_loops import check_loops, divides
from tilewire import _tilewire

ARRAYS = {name: "bf16[?,?]" for name in "abc"}
TILE = {"BM": "64", "BN": "128", "BK": "64", "STAGES": "8", "GROUP": "16", "PRECISION": "tf32"}


@pytest.mark.parametrize("cluster", ["1", "2"])
def test_a_tile_is_found_in_front_of_its_loop(cluster):
    given = {**ARRAYS, **TILE, "CLUSTER": cluster}
    program = matmul.program("sm_90a", matmul.specialise_text(given))
    program.assume_ordinary_facts()
    text = _tilewire.emit_stage(program, tw.Target("sm_90a"), "cuda").decode()
    assert divides(text)
    check_loops(text)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("staged_")])
def test_the_same_in_op_cases(name):
    case = CASES[name]
    check_loops(emit(case, case.dtypes[0], "sm_90a", "cuda").decode())
