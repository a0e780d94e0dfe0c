"""Every op case as CUDA: golden texts (TILEWIRE_REFRESH_GOLDENS=1 writes them), and NVRTC."""

import concurrent.futures
import multiprocessing
import os
from pathlib import Path

import pytest
from op_cases import CASES
from op_cases.run import compile_everywhere, emit
from tilewire import UserError, _tilewire

GOLDENS = Path(__file__).parents[1] / "codegen/golden/ops"
REFRESH = bool(os.environ.get("TILEWIRE_REFRESH_GOLDENS"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_golden(case):
    text = emit(case, case.dtypes[0], None, "cuda").decode()
    path = GOLDENS / f"{case.name}.cu"
    if REFRESH:
        path.write_text(text)
    assert path.is_file(), f"there is no golden {path.name}: TILEWIRE_REFRESH_GOLDENS=1 writes it"
    assert text == path.read_text()


def test_the_text_depends_on_no_program_compiled_before():
    case = CASES["split_k_in_batches"]
    texts = set()
    for other in [each for each in CASES.values() if "matmul" in each.name]:
        texts.add(emit(case, case.dtypes[0], None, "cuda"))
        emit(other, other.dtypes[0], None, "cuda")
    assert len(texts) == 1


def test_every_golden_has_a_case():
    left_over = {path.stem for path in GOLDENS.glob("*.cu")} - set(CASES)
    if REFRESH:
        for name in left_over:
            (GOLDENS / f"{name}.cu").unlink()
    assert REFRESH or not left_over


def test_a_read_that_nccl_lacks_is_the_programs_error():
    if missing_nvrtc() or _tilewire.network_has_get():
        pytest.skip("this NCCL reads other ranks' memory over the network")
    case = CASES["get_from_anywhere"]
    with pytest.raises(
        UserError, match=r"get_from_anywhere.py:\d+: get: NCCL 2.2\d.* is the first to do"
    ):
        emit(case, case.dtypes[0], "sm_90a", "cubin")


def missing_nvrtc():
    reports = {each.name: each.problem for each in _tilewire.report_components()}
    return reports["NVRTC"]


def skip_without_get(case):
    if "get" in case.covers and not _tilewire.network_has_get():
        pytest.skip("this NCCL reads no other rank's memory over the network")


def compile_by_name(name):
    compile_everywhere(CASES[name])


@pytest.fixture(scope="module")
def compiles(request):
    """Case → its compiles, by a process per core: NVRTC compiles one kernel at a time in each."""
    names = [
        e.callspec.params["name"] for e in request.session.items if "compiles" in e.fixturenames
    ]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        yield {name: pool.submit(compile_by_name, name) for name in names}


@pytest.mark.parametrize("name", CASES)
def test_compiles_for_every_architecture(name, compiles):
    if missing_nvrtc():
        pytest.skip(f"NVRTC: {missing_nvrtc()}")
    skip_without_get(CASES[name])
    compiles[name].result()
