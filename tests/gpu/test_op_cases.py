"""Every op case on a GPU against the CPU target, each dtype; tests/support/op_cases has them. The
first dtype takes all shapes of the case, the others the odd one: most of the time is compilation.

TILEWIRE_OP_CASES=a,b runs only these. TILEWIRE_OP_CASES=sanitized is for a run under
compute-sanitizer: the first two dtypes of every case, against NumPy alone, without the cases of
several ranks (it runs one kernel at a time, so ranks that wait for each other would never meet).
These kernels are among those of a run without it, and after one come out of the kernel cache.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from op_cases import CASES
from op_cases.run import check, run_on_cpu, run_on_torch

ONLY = os.environ.get("TILEWIRE_OP_CASES", "")
IS_SANITIZED = ONLY == "sanitized"
if IS_SANITIZED:
    CHOSEN = [case for case in CASES.values() if case.world == 1]
else:
    CHOSEN = [CASES[name] for name in (ONLY.split(",") if ONLY else CASES)]
RUNS = [(case, dtype) for case in CHOSEN for dtype in case.dtypes[: 2 if IS_SANITIZED else None]]
RUN_IDS = [f"{case.name}-{dtype.name}" for case, dtype in RUNS]


@pytest.mark.parametrize(("case", "dtype"), RUNS, ids=RUN_IDS)
def test_against_the_cpu_target(case, dtype):
    for shape in case.shapes if dtype == case.dtypes[0] else case.shapes[1:2] or case.shapes:
        on_gpu = case.arguments(dtype, shape)
        reference = on_gpu.expected()
        run_on_torch(case, on_gpu, "cuda")
        check(case, on_gpu, reference)
        if IS_SANITIZED:
            continue
        on_cpu = case.arguments(dtype, shape)
        run_on_cpu(case, on_cpu)
        of_cpu = {name: [np.array(values[name]) for values in on_cpu.by_rank] for name in reference}
        check(case, on_gpu, of_cpu, slack=2)
