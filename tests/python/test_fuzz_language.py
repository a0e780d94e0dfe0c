"""Random programs (tests/support/fuzz) on the CPU target against NumPy, and to CUDA text;
some through NVRTC.

2,000 a run, from a fixed seed, so that a change is judged by what it changes: TILEWIRE_FUZZ_SEED=N
takes another one, TILEWIRE_FUZZ_SEED=fresh draws one. The seed is printed; TILEWIRE_FUZZ_PROGRAMS=N
changes the number. A failure prints its seed, the program, and
the program cut down to what still fails: that becomes a case in tests/support/op_cases/found.py,
together with the fix.
"""

import concurrent.futures
import multiprocessing
import os
import random
import traceback

import pytest
from fuzz.generator import generate
from fuzz.run import check, described, emit, known_fraction, run_on_cpu, run_on_torch
from fuzz.shrink import shrink
from tilewire import _tilewire

SEED = os.environ.get("TILEWIRE_FUZZ_SEED") or "863618049"
FIRST_SEED = random.SystemRandom().randrange(10**9) if SEED == "fresh" else int(SEED)
NUM_PROGRAMS = int(os.environ.get("TILEWIRE_FUZZ_PROGRAMS") or 2000)
BATCH = 100
NVRTC_EVERY = 20


def try_program(program):
    """Empty, or what is wrong with the program."""
    try:
        check(program, run_on_cpu(program))
        assert emit(program, "sm_90a", "cuda")
    except AssertionError as error:
        return str(error)
    except Exception:
        return f"seed {program.seed}\n{described(program)}\n{traceback.format_exc()}"
    return ""


def kind_of_failure(program):
    """The type of an exception, or that a result is wrong; a program without meaning has none."""
    try:
        program.expected()
    except (KeyError, AssertionError):
        return ""
    failure = try_program(program)
    return failure.strip().splitlines()[-1].split(":")[0] if "Traceback" in failure else failure[:4]


def try_batch(seeds):
    """The failures of these seeds; behind the first one, the same cut down."""
    failures = []
    for program in map(generate, seeds):
        failure = try_program(program)
        if failure and not failures:
            failure += "\n\ncut down:\n" + try_program(shrink(program, kind_of_failure))
        failures += [failure] if failure else []
    return failures


@pytest.fixture(scope="module")
def batches():
    """First seed of a batch → its failures, computed by a process per core."""
    starts = range(FIRST_SEED, FIRST_SEED + NUM_PROGRAMS, BATCH)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        yield {start: pool.submit(try_batch, range(start, start + BATCH)) for start in starts}


@pytest.mark.parametrize("number", range((NUM_PROGRAMS + BATCH - 1) // BATCH))
def test_programs_against_numpy(number, batches):
    start = FIRST_SEED + number * BATCH
    print(f"TILEWIRE_FUZZ_SEED={FIRST_SEED}: seeds {start} to {start + BATCH - 1}")
    failures = batches[start].result()
    assert not failures, "\n\n".join([f"{len(failures)} of {BATCH} programs:", *failures[:3]])


def test_programs_through_nvrtc():
    problem = {each.name: each.problem for each in _tilewire.report_components()}["NVRTC"]
    if problem:
        pytest.skip(f"NVRTC: {problem}")
    for seed in range(FIRST_SEED, FIRST_SEED + NUM_PROGRAMS, NVRTC_EVERY):
        program = generate(seed)
        try:
            assert emit(program, "sm_90a", "cubin")
        except Exception as error:
            pytest.fail(f"seed {seed}: {error}\n\n{described(program)}")


def test_the_way_of_the_gpu_test_on_cpu_tensors():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    for seed in range(5):
        program = generate(seed)
        check(program, run_on_torch(program, "cpu"))


def test_a_wrong_result_is_found():
    program = generate(next(seed for seed in range(100) if known_fraction(generate(seed)) == 1))
    arguments = run_on_cpu(program)
    name = program.arrays[-1].name
    arguments[name][...] = arguments[name].astype(bool) == 0
    with pytest.raises(AssertionError, match=f"seed {program.seed}: {name}: "):
        check(program, arguments)


def test_a_failing_program_is_cut_down():
    program = next(p for p in map(generate, range(50)) if p.text.count("tw.cumsum") == 1)
    failing = shrink(program, lambda p: "wrong" if "tw.cumsum" in p.text else "")
    assert "tw.cumsum" in failing.text and len(list(failing.text.splitlines())) < 25
    assert len(failing.body) == 1


def test_most_of_what_is_computed_is_compared():
    fractions = [known_fraction(generate(seed)) for seed in range(100)]
    assert sum(fractions) / len(fractions) > 0.9


def test_a_seed_gives_the_same_program_again():
    assert generate(7).text == generate(7).text != generate(8).text
