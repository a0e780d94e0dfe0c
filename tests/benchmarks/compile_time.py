"""How long kernels take from program to machine code, with an empty cache: all-reduce with RMS
norm for two ranks, and products for Hopper in several tilings.

    python tests/benchmarks/compile_time.py [result.json]

Needs NVRTC and NCCL's headers, no GPU. Each run is a process of its own; the first kernel of a
process pays for loading NVRTC, the second one doesn't.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 7
ONE_RUN = """
import json, sys, time
import tilewire as tw
sys.path.insert(0, sys.argv[1])
from matmul_kernels import matmul
from norm_program import allreduce_rmsnorm
from product_report import Variant
times = {}
def measure(name, kernel, target, **specs):
    start = time.perf_counter()
    program = kernel.program(target, kernel.specialise_text({k: str(v) for k, v in specs.items()}))
    program.assume_ordinary_facts()
    _, report = tw._tilewire.compile(program, tw.Target(target))
    assert not report.from_disk
    times[name] = [1000 * (time.perf_counter() - start), report.lower_ms, report.compile_ms]
for name, columns in (("first_kernel", 8192), ("second_kernel", 4096)):
    measure(name, allreduce_rmsnorm, "sm_90a:world=2", x=f"window:bf16[?,{columns}]",
            gain=f"bf16[{columns}]", y=f"bf16[?,{columns}]")
for text in sys.argv[2:]:
    measure("matmul " + text, matmul, "sm_90a", a="bf16[?,?]", b="bf16[?,?]", c="bf16[?,?]",
            **Variant.parse(text).constants())
print(json.dumps(times))
"""
TILES = ["128x256x64x4", "128x128x64x6", "64x128x64x8", "64x64x128x6", "16x64x256x5"]


def one_run() -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as cache:
        output = subprocess.run(
            [sys.executable, "-c", ONE_RUN, str(Path(__file__).parents[1] / "support"), *TILES],
            env=dict(os.environ, TILEWIRE_CACHE_DIR=cache),
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(output.stdout)


def main() -> None:
    runs = [one_run() for _ in range(RUNS)]
    result = {}
    for which in runs[0]:
        total, lower, compile_ = (
            statistics.median(run[which][i] for run in runs) for i in range(3)
        )
        result[which] = {
            "total_ms": round(total, 1),
            "to_text_ms": round(lower, 1),
            "nvrtc_ms": round(compile_, 1),
        }
        print(f"{which}: " + "  ".join(f"{k} {v}" for k, v in result[which].items()))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
        Path(sys.argv[1]).write_text(json.dumps({"compile": result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
