"""Every op case on the CPU target against its float64 reference (tests/support/op_cases)."""

import numpy as np
import pytest
import tilewire as tw
from op_cases import CASES
from op_cases.case import Case, Maker
from op_cases.compare import mismatch, rounded
from op_cases.run import check, run_on_cpu, run_on_torch

RUNS = [(case, dtype) for case in CASES.values() for dtype in case.dtypes]
RUN_IDS = [f"{case.name}-{dtype.name}" for case, dtype in RUNS]


@pytest.mark.parametrize(("case", "dtype"), RUNS, ids=RUN_IDS)
def test_against_the_reference(case, dtype):
    for shape in case.shapes:
        arguments = case.arguments(dtype, shape)
        expected = arguments.expected()
        run_on_cpu(case, arguments)
        check(case, arguments, expected)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_way_of_the_gpu_tests_on_cpu_tensors(case):
    """tests/gpu/test_op_cases.py runs the same functions with another device."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    dtype = case.dtypes[0]
    arguments = case.arguments(dtype, case.shapes[0])
    expected = arguments.expected()
    run_on_torch(case, arguments, "cpu")
    check(case, arguments, expected)


def test_a_wrong_result_is_found():
    for case in CASES.values():
        arguments = case.arguments(case.dtypes[0], case.shapes[0])
        expected = arguments.expected()
        name, values = next(iter(expected.items()))
        got = arguments.by_rank[0][name]
        got[...] = rounded(values[0], got.dtype)
        last = (-1,) * got.ndim
        if got.dtype == bool:
            got[last] = not got[last]
        else:
            value = got[last].astype(np.float64)
            got[last] = value + 3 if abs(value) < 20 else 5  # further off than rounding
        with pytest.raises(AssertionError, match=f"{case.name}: {name} of rank 0: 1 of "):
            check(case, arguments, {name: values[:1]})


def test_what_the_comparison_takes_as_equal():
    one = np.float32([1.0])
    next_after = np.nextafter(one, np.float32(2))
    assert not mismatch(next_after, [1.0], tolerance=1)
    assert "expected 1.0" in mismatch(np.nextafter(next_after, np.float32(2)), [1.0], tolerance=1)
    assert not mismatch(np.float32([np.nan, np.inf]), [np.nan, np.inf], tolerance=0)
    assert mismatch(np.float32([np.inf]), [3e38], tolerance=1)
    assert mismatch(np.float32([np.nan]), [0.0], tolerance=9)
    assert not mismatch(np.float16([np.inf]), [70000.0], tolerance=0)
    assert mismatch(np.int8([3]), [2], tolerance=9)


def test_poison_differs_from_any_input():
    for dtype in (tw.f32, tw.e4m3):
        assert np.isnan(Maker(dtype, (3, 4)).output().astype(np.float64)).all()


def test_a_case_of_every_kind_is_found():
    assert all(isinstance(case, Case) for case in CASES.values())
    assert {case.world for case in CASES.values()} >= {1, 2}
