"""A rank that never comes: the others say which one and at which line, in time, and exit."""

from __future__ import annotations

import inspect
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

HERE = Path(__file__).parent
TIMEOUT_S = 4


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(rank: int, mode: str, port: int) -> subprocess.Popen:
    environment = dict(
        os.environ,
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE="2",
        LOCAL_WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        TILEWIRE_TIMEOUT=str(TIMEOUT_S),
        TILEWIRE_REPORT_AFTER="1",
        PYTHONPATH=os.pathsep.join([str(HERE.parent / "support"), *sys.path]),
    )
    return subprocess.Popen(
        [sys.executable, str(HERE / "hang_worker.py"), mode],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(mode: str) -> tuple[str, str]:
    """What rank 0 prints on stdout and stderr. Both processes end by themselves."""
    if "RANK" in os.environ:
        pytest.skip("starts its own processes: run it without torchrun")
    if torch.cuda.device_count() < 2:
        pytest.skip(f"needs 2 GPUs, this machine has {torch.cuda.device_count()}")
    port = free_port()
    ranks = [start(rank, mode, port) for rank in range(2)]
    try:
        output, errors = ranks[0].communicate(timeout=120)
        ranks[1].communicate(timeout=120)
    finally:
        for process in ranks:
            process.kill()
    assert ranks[0].returncode == 3, output + errors
    assert ranks[1].returncode == (-9 if "killed" in mode else 0)
    return output, errors


@pytest.mark.parametrize("mode", ["never", "killed"])
def test_the_missing_rank_is_named(mode):
    import norm_program

    output, errors = run(mode)
    lines, first = inspect.getsourcelines(norm_program)
    barrier = next(i for i, line in enumerate(lines, first or 1) if "tw.barrier()" in line)
    message = re.search(r"after ([\d.]+) s: (.*)", output)
    assert message, output + errors
    assert (
        f"norm_program.py:{barrier}: rank 1 never arrived: rank 0 gave up after 4 s" in message[2]
    )
    assert "kernel `allreduce_rmsnorm`" in message[2]
    assert TIMEOUT_S <= float(message[1]) < TIMEOUT_S + 0.5
    # The first stage came before, on stderr.
    assert re.search(rf"norm_program\.py:{barrier}: rank 0 has waited for rank 1 for 1 s", errors)


@pytest.mark.parametrize("mode", ["window", "window killed"])
def test_a_window_that_a_rank_never_makes(mode):
    output, _ = run(mode)
    message = re.search(r"after ([\d.]+) s: (.*)", output)
    assert message, output
    assert "comm.window((8, 128), tw.f32): rank 1 never came within 4 s" in message[2]
    assert TIMEOUT_S <= float(message[1]) < TIMEOUT_S + 1


def test_a_first_launch_that_a_rank_never_makes_ends():
    from norm import allreduce_rmsnorm

    output, _ = run("first")
    line = inspect.getsourcelines(allreduce_rmsnorm.function)[1] + 1  # below the decorator
    message = re.search(r"after ([\d.]+) s: (.*)", output)
    assert message, output
    assert "the launch of allreduce_rmsnorm[" in message[2]
    assert f"(norm_program.py:{line}): rank 1 never came within 4 s" in message[2]
    assert TIMEOUT_S <= float(message[1]) < TIMEOUT_S + 3  # it compiles first
