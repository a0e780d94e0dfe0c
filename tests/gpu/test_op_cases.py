"""Every op case on a GPU against the CPU target, each dtype; tests/support/op_cases has them. The
first dtype takes all shapes of the case, the others the odd one: most of the time is compilation.

TILEWIRE_OP_CASES=a,b runs only these; `sanitized` those that compute-sanitizer watches.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from op_cases import CASES
from op_cases.run import check, run_on_cpu, run_on_torch
from op_cases.sanitized import SANITIZED

ONLY = os.environ.get("TILEWIRE_OP_CASES", "")
NAMES = SANITIZED if ONLY == "sanitized" else ONLY.split(",") if ONLY else list(CASES)
CHOSEN = [CASES[name] for name in NAMES]
MAX_DTYPES = 2 if ONLY == "sanitized" else None
RUNS = [(case, dtype) for case in CHOSEN for dtype in case.dtypes[:MAX_DTYPES]]
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
