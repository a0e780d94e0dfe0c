"""Ctrl-C ends a launch on the CPU target soon: SIGINT to a process that would never come back
(tests/support/endless_kernels.py)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from endless_kernels import LAUNCHES

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join([str(ROOT / "bindings"), os.environ.get("PYTHONPATH", "")])


@pytest.mark.parametrize("kind", LAUNCHES)
def test_sigint_ends_the_launch_and_the_next_one_works(kind):
    script = ROOT / "tests/support/endless_kernels.py"
    with subprocess.Popen(
        [sys.executable, str(script), kind],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PATH},
    ) as process:
        try:
            assert process.stdout.readline() == "launching\n"
            time.sleep(1)  # it may be compiling first
            process.send_signal(signal.SIGINT)
            lines = process.communicate(timeout=20)[0].splitlines()
        finally:
            process.kill()
    assert lines == ["interrupted", "launched again"]
    assert process.returncode == 0
