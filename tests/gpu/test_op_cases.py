"""Every op case on a GPU against the CPU target, each dtype; tests/support/op_cases has them. The
first dtype takes all shapes of the case, the others the odd one: most of the time is compilation.

TILEWIRE_OP_CASES=a,b runs only these (compute-sanitizer takes a subset).
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from op_cases import CASES
from op_cases.run import check, run_on_cpu, run_on_torch

ONLY = os.environ.get("TILEWIRE_OP_CASES")
CHOSEN = [case for case in CASES.values() if not ONLY or case.name in ONLY.split(",")]
RUNS = [(case, dtype) for case in CHOSEN for dtype in case.dtypes]
RUN_IDS = [f"{case.name}-{dtype.name}" for case, dtype in RUNS]


@pytest.mark.parametrize(("case", "dtype"), RUNS, ids=RUN_IDS)
def test_against_the_cpu_target(case, dtype):
    for shape in case.shapes if dtype == case.dtypes[0] else case.shapes[1:2] or case.shapes:
        on_cpu, on_gpu = case.arguments(dtype, shape), case.arguments(dtype, shape)
        reference = on_cpu.expected()
        run_on_cpu(case, on_cpu)
        run_on_torch(case, on_gpu, "cuda")
        check(case, on_gpu, reference)
        of_cpu = {name: [np.array(values[name]) for values in on_cpu.by_rank] for name in reference}
        check(case, on_gpu, of_cpu, slack=2)


def test_the_chosen_cases_exist():
    assert CHOSEN and (not ONLY or len(CHOSEN) == len(ONLY.split(",")))
