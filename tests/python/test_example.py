"""The example that `make demo` runs: its result, its report, and that it notices a wrong result."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/01_allreduce_rmsnorm.py"


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "bindings"), **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(("world", "shape"), [("8", "16,1024"), ("1", "7,640"), ("3", "0,8")])
def test_runs(world, shape, tmp_path):
    result = run("--world", world, "--shape", shape, TILEWIRE_CACHE_DIR=str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr
    lines = dict(line.split(None, 1) for line in result.stdout.splitlines() if line[0] != " ")
    assert lines["world"].startswith(f"{world} ranks, cpu:world={world}")
    assert Path(lines["cuda"]).read_text().startswith("//")
    assert int(lines["cubin"].split()[0]) > 1000
    assert "for sm_90a:" in lines["cubin"]
    assert result.stdout.count(": ok") == int(world)


def test_second_run_takes_the_machine_code_from_the_disk(tmp_path):
    for expected in (False, True):
        result = run("--world", "2", "--shape", "4,256", TILEWIRE_CACHE_DIR=str(tmp_path))
        assert ("from the disk cache" in result.stdout) is expected


def test_bad_shape():
    result = run("--shape", "64")
    assert result.returncode == 2 and "invalid shape value: '64'" in result.stderr


def test_errors_are_noticed():
    spec = importlib.util.spec_from_file_location("example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    expected = example.reference(2, 3, 64)
    assert example.worst_error(expected, expected) == (0.0, 0.0)
    for wrong in (1.01, np.nan, -1.0):
        y = expected.copy()
        y[1, 5] *= wrong
        assert example.worst_error(y, expected)[0] > 1
