"""Messages and a failed assertion, in a process of its own: the context doesn't outlive it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_lines_and_the_element_that_fails_are_named():
    child = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "failing_assert.py")],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    output = child.stdout + child.stderr
    for program in range(2):
        line = (
            f"[program ({program}, 0, 0)] failing_assert.py:9: x is [0, 1, 2, 3, …, 296, 297, 298"
        )
        assert line in output, output
    assert "held" in output, output
    place = "(program (0, 0, 0), element [5]: 5 < 5"
    told = f"failing_assert.py:14: assertion failed: out of range {place}"
    assert told in output, output
    assert "raised: an assertion failed on the GPU" in output, output
