"""The random programs of tests/support/fuzz on a GPU, against NumPy's bounds and the CPU target."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from fuzz.generator import generate
from fuzz.run import check, described, run_on_cpu, run_on_torch

SEED = os.environ.get("TILEWIRE_FUZZ_SEED") or "fresh"
FIRST_SEED = random.SystemRandom().randrange(10**9) if SEED == "fresh" else int(SEED)
NUM_PROGRAMS = int(os.environ.get("TILEWIRE_FUZZ_PROGRAMS") or 400)
BATCH = 20


@pytest.mark.parametrize("number", range((NUM_PROGRAMS + BATCH - 1) // BATCH))
def test_programs_against_the_cpu_target(number):
    start = FIRST_SEED + number * BATCH
    print(f"TILEWIRE_FUZZ_SEED={FIRST_SEED}: seeds {start} to {start + BATCH - 1}")
    for seed in range(start, start + BATCH):
        program = generate(seed)
        on_gpu = run_on_torch(program, "cuda")
        check(program, on_gpu)
        on_cpu = run_on_cpu(program)
        for name, expected in program.expected().items():
            known = expected.error == 0
            same = (on_gpu[name] == on_cpu[name]) | (
                np.isnan(on_gpu[name].astype(np.float64)) & np.isnan(expected.value)
            )
            assert (same | ~known).all(), f"seed {seed}: {name}\n\n{described(program)}"
