"""Every op case as CUDA: goldens of the text (TILEWIRE_REFRESH_GOLDENS=1 writes them), and NVRTC.

The first dtype of a case compiles for each architecture, each other one for one of them in turn.
"""

import os
from pathlib import Path

import pytest
from op_cases import CASES
from op_cases.run import emit
from tilewire import _tilewire

GOLDENS = Path(__file__).parents[1] / "codegen/golden/ops"
REFRESH = bool(os.environ.get("TILEWIRE_REFRESH_GOLDENS"))
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_golden(case):
    text = emit(case, case.dtypes[0], "sm_90a", "cuda").decode()
    path = GOLDENS / f"{case.name}.cu"
    if REFRESH:
        path.write_text(text)
    assert path.is_file(), f"there is no golden {path.name}: TILEWIRE_REFRESH_GOLDENS=1 writes it"
    assert text == path.read_text()


def test_every_golden_has_a_case():
    left_over = {path.stem for path in GOLDENS.glob("*.cu")} - set(CASES)
    if REFRESH:
        for name in left_over:
            (GOLDENS / f"{name}.cu").unlink()
    assert REFRESH or not left_over


def missing_nvrtc():
    reports = {each.name: each.problem for each in _tilewire.report_components()}
    return reports["NVRTC"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_compiles_for_every_architecture(case):
    if missing_nvrtc():
        pytest.skip(f"NVRTC: {missing_nvrtc()}")
    for architecture in ARCHITECTURES:
        assert emit(case, case.dtypes[0], architecture, "cubin")
    for number, dtype in enumerate(case.dtypes[1:], 1):
        assert emit(case, dtype, ARCHITECTURES[number % len(ARCHITECTURES)], "cubin")
