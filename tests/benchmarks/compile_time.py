"""How long the fused kernel takes from program to machine code, with an empty cache.

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
from norm_program import allreduce_rmsnorm
times = []
for columns in (8192, 4096):
    start = time.perf_counter()
    shapes = {"x": f"window:bf16[?,{columns}]", "gain": f"bf16[{columns}]",
              "y": f"bf16[?,{columns}]"}
    compiled = allreduce_rmsnorm.compile(
        "sm_90a:world=2", allreduce_rmsnorm.specialise_text(shapes))
    assert not compiled.report.from_disk
    times.append([1000 * (time.perf_counter() - start), compiled.report.lower_ms,
                  compiled.report.compile_ms])
print(json.dumps(times))
"""


def one_run() -> list[list[float]]:
    with tempfile.TemporaryDirectory() as cache:
        output = subprocess.run(
            [sys.executable, "-c", ONE_RUN, str(Path(__file__).parents[1] / "support")],
            env=dict(os.environ, TILEWIRE_CACHE_DIR=cache),
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(output.stdout)


def main() -> None:
    runs = [one_run() for _ in range(RUNS)]
    result = {}
    for i, which in enumerate(("first_kernel", "second_kernel")):
        total, lower, compile_ = (statistics.median(run[i][j] for run in runs) for j in range(3))
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
