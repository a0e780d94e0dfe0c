"""Kernels for GPUs find ranks that aren't there, under TILEWIRE_CHECK=1."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tilewire as tw

REACHES_ALL = ("put", "signal", "send")
REACHES_TEAM = ("store", "load", "add")


@tw.kernel
def reach(w: tw.Window["N"], y: tw.Tensor["N"], sem: tw.Semaphore["S"], ch: tw.Channel["C"],
          r: tw.i32, *, N: tw.const, what: tw.const):  # fmt: skip
    if what == "put":
        tw.put(w.at(r)[:], tw.zeros((N,), tw.f32))
    elif what == "signal":
        tw.signal(sem.at(r)[0])
    elif what == "send":
        tw.send(ch.at(r)[0], 1.0)
    elif what == "store":
        tw.store(w.at(r)[:], tw.zeros((N,), tw.f32))
    elif what == "add":
        tw.add(w.at(r)[:], tw.zeros((N,), tw.f32))
    else:
        tw.store(y[:], tw.load(w.at(r)[:]))


def emitted(what, target, stage, check="1"):
    """In a process of its own: the environment is read once."""
    given = ("w=window:f32[64]", "y=f32[64]", "sem=semaphore[1]", "ch=channel[1]:tagged:1:f32[]",
             f"what={what}")  # fmt: skip
    arguments = ["emit", f"{__file__}:reach", "--target", target, "--stage", stage]
    for each in given:
        arguments += ["--arg", each]
    program = f"from tilewire.cli import main; raise SystemExit(main({arguments!r}))"
    environment = {
        **os.environ,
        "TILEWIRE_CHECK": check,
        "PYTHONPATH": str(Path(tw.__file__).parents[1]),
    }
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize(
    ("target", "what"),
    [("sm_90a:world=4", what) for what in REACHES_ALL + REACHES_TEAM]
    + [("sm_90a:world=4,lsa=2,gin=1", what) for what in REACHES_ALL],
)
def test_an_absent_rank_ends_the_launch(target, what):
    text = emitted(what, target, "cuda").decode()
    name = {"signal": "sem", "send": "ch"}.get(what, "w")
    check = text.index(f"{what}: `{name}.at(r)`: the world has no rank r; keep r in it")
    assert "tw::check(" in text[:check]
    used = re.search(r"tw::(store|load|add_to_memory|signal_\w+)<|\.begin\(|\.store", text)
    assert used is not None
    assert check < used.start()
    assert emitted(what, target, "cubin")[:4] == b"\x7fELF"


def test_nothing_is_checked_where_nobody_asks():
    for what in REACHES_ALL + REACHES_TEAM:
        assert "has no rank" not in emitted(what, "sm_90a:world=4", "cuda", check="0").decode()
