"""The CPU target on y = gelu(a * x + b), 16M bf16: against what the memory bandwidth allows.

What it allows is the faster of two ways to move the same bytes on all cores in the same run:
NumPy's copy, and a kernel with two operations per element. All alternate, and the best of many
rounds counts, so that other work on the machine matters less. `cold` goes through more arrays than
any cache holds, `warm` takes the same two each time.

    python tests/benchmarks/cpu_elementwise.py [--rounds 40] [--json FILE]
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import tilewire as tw

COUNT = 1 << 24
PAIRS = 12  # of 64 MiB: more than the caches of current servers
BLOCK = 4096
ROOT_OF_HALF = 0.7071067811865476


@tw.kernel
def gelu(x: tw.Tensor["N"], y: tw.Tensor["N"], a: tw.f32, b: tw.f32, *, B: tw.const):
    for block in tw.persistent(tw.cdiv(N, B)):
        v = tw.fma(tw.load(x[tw.ds(block * B, B)]).to(tw.f32), a, b)
        half = 0.5 * v
        tw.store(y[tw.ds(block * B, B)], tw.fma(half, tw.erf(v * ROOT_OF_HALF), half))


@tw.kernel
def gelu_by_tanh(x: tw.Tensor["N"], y: tw.Tensor["N"], a: tw.f32, b: tw.f32, *, B: tw.const):
    for block in tw.persistent(tw.cdiv(N, B)):
        v = tw.fma(tw.load(x[tw.ds(block * B, B)]).to(tw.f32), a, b)
        inner = v * tw.fma(v * v, 0.0356774081, 0.7978845608)
        half = 0.5 * v
        tw.store(y[tw.ds(block * B, B)], tw.fma(half, tw.tanh(inner), half))


@tw.kernel
def scale_and_shift(x: tw.Tensor["N"], y: tw.Tensor["N"], a: tw.f32, b: tw.f32, *, B: tw.const):
    for block in tw.persistent(tw.cdiv(N, B)):
        v = tw.load(x[tw.ds(block * B, B)]).to(tw.f32)
        tw.store(y[tw.ds(block * B, B)], tw.fma(v, a, b))


KERNELS = (scale_and_shift, gelu, gelu_by_tanh)


def copier(num_cores: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """Copies with all cores: what a program that only moves the bytes takes."""
    pool = ThreadPoolExecutor(num_cores)

    def copy(x: np.ndarray, y: np.ndarray) -> None:
        words = (np.array_split(each.view(np.uint64), num_cores) for each in (y, x))
        list(pool.map(lambda part: np.copyto(*part), zip(*words, strict=True)))

    return copy


def best_times(
    work: dict[str, Callable[..., None]], pairs: list[tuple[np.ndarray, np.ndarray]], rounds: int
) -> dict[str, float]:
    """Seconds, the best of `rounds`; the kinds of work alternate."""
    best = dict.fromkeys(work, float("inf"))
    number = 0
    for _ in range(rounds):
        for name, call in work.items():
            x, y = pairs[number % len(pairs)]
            number += 1
            start = time.perf_counter()
            call(x, y)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path, help="where the figures go too")
    options = parser.parse_args()
    num_cores = len(os.sched_getaffinity(0))
    values = np.random.default_rng(0).standard_normal(COUNT, np.float32).astype(ml_dtypes.bfloat16)
    pairs = [(values.copy(), np.zeros_like(values)) for _ in range(PAIRS)]
    work: dict[str, Callable[..., None]] = {"copy": copier(num_cores)}
    for kernel in KERNELS:
        work[kernel.name] = lambda x, y, kernel=kernel: kernel[tw.auto](x, y, 1.1, 0.1, B=BLOCK)
    results = {"machine": platform.machine(), "cores": num_cores, "load": os.getloadavg()[0]}
    print(f"{COUNT} elements of bf16, {num_cores} cores, load average {results['load']:.1f}")
    for name, arrays in (("cold", pairs), ("warm", pairs[:1])):
        best = best_times(work, arrays, options.rounds)
        results[name] = {each: 1e3 * seconds for each, seconds in best.items()}
        limit = min(best["copy"], best[scale_and_shift.name])
        print(
            f"{name}: the memory allows {1e3 * limit:.2f} ms ({4 * COUNT / limit / 1e9:.1f} GB/s)"
        )
        for each, seconds in best.items():
            rate = 4 * COUNT / seconds / num_cores / 1e9
            ratio = seconds / limit
            print(f"  {each:16} {1e3 * seconds:7.2f} ms, {ratio:.2f} times, {rate:.1f} GB/s a core")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
