"""A virtual rank that never launches, in a process of its own: a hang leaves a dead context."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TIMEOUT_S = 2
# The driver takes some seconds to take a context down after a trap (3.4 s on an H200), and reports
# it to who waits for the GPU only then.
TRAP_S = 15


def test_the_missing_virtual_rank_and_the_line_are_named():
    import norm_program

    here = Path(__file__).parent
    environment = dict(
        os.environ,
        TILEWIRE_TIMEOUT=str(TIMEOUT_S),
        TILEWIRE_REPORT_AFTER="0.5",
        PYTHONPATH=os.pathsep.join([str(here.parent / "support"), *sys.path]),
    )
    start = time.monotonic()
    child = subprocess.run(
        [sys.executable, str(here / "absent_rank.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lifetime = time.monotonic() - start
    output = child.stdout + child.stderr
    assert child.returncode == 1, output  # an exception that nobody caught; not a signal

    lines, first = inspect.getsourcelines(norm_program)
    barrier = next(i for i, line in enumerate(lines, first or 1) if "tw.barrier()" in line)
    line = rf"\S*norm_program\.py:{barrier}: "
    told = re.search(rf"HangError: {line}rank 1 never arrived: rank 0 gave up after 2 s", output)
    assert told, output
    assert re.search(rf"tilewire: {line}rank 0 has waited for rank 1 for 0\.5 s", output), output
    assert re.search(rf"tilewire: {line}rank 0 gave up after 2 s: rank 1 never", output), output
    check = re.search(r"check: ([\d.]+) s", output)
    synchronize = re.search(r"synchronize: ([\d.]+) s", output)
    assert check and synchronize, output
    assert TIMEOUT_S <= float(check[1]) < TIMEOUT_S + 0.5
    assert float(synchronize[1]) < TIMEOUT_S + TRAP_S
    assert lifetime < 60, output  # PyTorch's import, the compilation and the exit included
