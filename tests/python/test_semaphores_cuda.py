"""What the CUDA text of semaphores fences and checks, and where threads meet."""

import os
import re
import subprocess
import sys
from pathlib import Path

import tilewire as tw

CHECKED = """
import sys
import tilewire as tw
from op_cases import CASES
from op_cases.run import emit
case = CASES["swap_with_back_pressure"]
sys.stdout.write(emit(case, tw.f32, "sm_90a", "cuda").decode())
assert emit(case, tw.f32, "sm_90a", "cubin")
"""


def test_kernels_for_gpus_check_where_asked_to():
    paths = [str(Path(__file__).parents[2] / each) for each in ("bindings", "tests/support")]
    environment = {**os.environ, "TILEWIRE_CHECK": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", CHECKED], env=environment, capture_output=True, text=True, check=True
    )
    waits = [each for each in done.stdout.split(";") if "tw::wait_semaphore" in each]
    assert len(waits) == 2
    assert all("two program instances wait for one semaphore" in each for each in waits)


def semaphore_calls(text):
    """What a kernel's text does with semaphores and where threads meet, in order."""
    found = re.findall(r"__syncthreads\(\)|tw::(?:signal|wait)_semaphores?<[^>]*>", text)
    return [re.sub("tw::|Order::|Scope::", "", each) for each in found]


def test_signals_are_fenced_only_where_something_is_new(emitted):
    @tw.kernel
    def tell_all(w: tw.Window["M"], sem: tw.Semaphore["W"], *, N: tw.const = 64):
        for r in tw.unroll(3):
            tw.signal(sem.at(r)[0])
        tw.store(w[tw.ds(0, N)], 1.0)
        for r in tw.unroll(2):
            tw.signal(sem.at(r)[0])
        tw.signal(sem[1])

    given = {"w": "window:f32[?]", "sem": "semaphore[3]"}
    relaxed = "signal_semaphore<kRelaxed, kSystem>"
    released = "signal_semaphore<kRelease, kSystem>"
    assert semaphore_calls(emitted(tell_all, "sm_90a:world=3", "cuda", **given)) == [
        *[relaxed] * 3,
        "__syncthreads()",
        released,
        relaxed,
        "signal_semaphore<kRelaxed, kGpu, kSystem>",
    ]
    alone = semaphore_calls(emitted(tell_all, "sm_90a", "cuda", **given))
    assert set(alone) == {
        "signal_semaphore<kRelaxed, kGpu>",
        "signal_semaphore<kRelease, kGpu>",
        "__syncthreads()",
    }


def test_threads_meet_between_waits_and_what_relies_on_them(emitted):
    @tw.kernel
    def relay(w: tw.Window["M"], sem: tw.Semaphore["W", "K"], *, N: tw.const = 64):
        tw.wait(sem[0, 0])  # thread 0 waits and tells
        tw.signal(sem.at(1)[0, 0])
        tw.wait(sem[:, 1])  # several threads wait, then one tells
        tw.signal(sem.at(1)[0, 1])
        tw.wait(sem[1, 0])
        tile = tw.load(w[tw.ds(0, N)])
        tw.signal(sem.at(1)[1, 0])  # what was read may be overwritten
        tw.store(w[tw.ds(N, N)], tile)

    text = emitted(relay, "sm_90a:world=2", "cuda", w="window:f32[?]", sem="semaphore[2, 2]")
    one, slice_ = "wait_semaphore<kSystem>", "wait_semaphores<kSystem, kThreads>"
    signal = "signal_semaphore<kRelease, kSystem>"
    meet = "__syncthreads()"
    calls = semaphore_calls(text)
    assert calls == [one, signal, slice_, meet, signal, one, meet, meet, signal] or calls == [
        one, signal, meet, slice_, meet, signal, one, meet, meet, signal,
    ]  # fmt: skip
