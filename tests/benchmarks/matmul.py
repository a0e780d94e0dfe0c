"""The product of tilewire on one GPU against cuBLAS and cuBLASLt.

    python tests/benchmarks/matmul.py [--json result.json] [--dtype bf16 fp8]
        [--shapes 4096x8192x14336,1024] [--tiles 128x256x64x4 128x256x64x4:g8:c2 …]
        [--regimes rested sustained] [--rounds 7] [--architecture sm_90]

C = A · Bᵀ, inputs N(0, 1), f32 sums. Each call takes the next of several sets of buffers, beyond
the L2 cache; 10 to 100 calls, about half a millisecond if they can, are one CUDA graph; candidates
take turns. Rested: half a second's rest before one graph. Sustained: calls of 0.2 s each, without a
rest. Figures are medians of rounds.
`--tiles` names what to try, tile sizes and stages, group, cluster, static extents, grid and parts
of K (`Variant.parse`); all are checked against float64 before they are timed.
`--architecture`: what tilewire compiles for, if not for this GPU's own, `sm_90a`: without wgmma its
products stand beside those whose operands go through registers.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import product_arguments
import tilewire as tw
import torch
from architecture import compiled_for
from matmul_kernels import matmul, matmul_split_k, matmul_static, matmul_through_registers
from product_report import (
    Shape,
    Variant,
    copies_beyond_cache,
    ratio,
    summary,
    table,
)
from regimes import Candidate, Clocks, regimes
from tilewire.ops.tiling import SMS, Tiling, choose_tiling_of_product, num_tiles
from timing import machine, write

HOPPER = "sm_90a"
DTYPES = {"bf16": torch.bfloat16, "fp8": torch.float8_e4m3fn}
# Beside the one that tilewire.ops chooses. Per number of rows of C, for 2 bytes; the first that is
# large enough.
TILES = {
    16: ["16x64x128x8", "16x64x128x10"],
    32: ["32x64x256x4"],
    64: ["64x64x64x8"],
    128: ["64x128x64x8", "64x128x128x4"],
    1024: ["64x128x64x8", "64x128x64x8:g8"],
    1 << 30: ["128x256x64x4", "256x128x64x4"],
}
# Where these leave multiprocessors without a tile, K is divided into as many parts as fill them, or
# half as many.
SPLIT_TILES = {
    16: ["16x64x256x5", "16x32x256x8", "16x128x128x5"],
    64: ["64x64x128x6", "64x32x128x8"],
    256: ["64x64x128x6", "64x32x128x8", "64x128x64x8", "128x64x64x8"],
    1 << 30: ["128x128x64x6", "128x256x64x4"],
}
# Of products of N(0, 1), relative to the size of the result, sqrt(K): rounding to bf16, and for fp8
# the tensor cores' own sums of 14 bits.
TOLERANCE = {"bf16": 2.0**-7, "fp8": 2.0**-6}


class Buffers:
    """Sets of a, b and c of one shape."""

    def __init__(self, shape: Shape, dtype: str) -> None:
        self.shape, self.dtype = shape, dtype
        element = 1 if dtype == "fp8" else 2
        M, N, K = shape
        num_bytes = element * (M * K + N * K) + 2 * M * N
        generator = torch.Generator("cuda").manual_seed(1)

        def random(*extents: int) -> torch.Tensor:
            made = torch.randn(extents, device="cuda", generator=generator)
            return made.to(DTYPES[dtype])

        self.sets = [
            (random(M, K), random(N, K), torch.empty(M, N, device="cuda", dtype=torch.bfloat16))
            for _ in range(copies_beyond_cache(num_bytes))
        ]

    def parts(self, variant: Variant) -> tuple[torch.Tensor, ...]:
        """Where a product with a divided K keeps its parts: the same memory for all sets, as one
        product follows the other."""
        if variant.splits == 1:
            return ()
        tiles = num_tiles(Tiling(variant.BM, variant.BN), self.shape.M, self.shape.N)
        shape = (tiles, variant.splits, variant.BM, variant.BN)
        return (torch.full(shape, torch.nan, device="cuda"),)

    def check(self, name: str, call: Callable[[int], None]) -> None:
        """AssertionError where the first and the last set's result is wrong."""
        for i in {0, len(self.sets) - 1}:
            a, b, c = self.sets[i]
            c.fill_(torch.nan)
            call(i)
            torch.cuda.synchronize()
            off = 0.0
            for rows in range(0, self.shape.M, 2048):  # float64 takes room
                part = slice(rows, rows + 2048)
                expected = a[part].double() @ b.double().t()
                error = (c[part].double() - expected).abs().max()
                off = max(off, float(error.nan_to_num(nan=torch.inf)))
            bound = TOLERANCE[self.dtype] * 6 * self.shape.K**0.5
            assert off <= bound, f"{name} at {self.shape}: {off} off, {bound} is the bound"


@contextlib.contextmanager
def library(name: str) -> Iterator[None]:
    before = torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_blas_library(name)
    yield
    torch.backends.cuda.preferred_blas_library(before)


def of_libraries(buffers: Buffers) -> dict[str, Callable[[int], None]]:
    def with_library(name: str) -> Callable[[int], None]:
        def call(i: int) -> None:
            a, b, c = buffers.sets[i]
            with library(name):
                torch.matmul(a, b.t(), out=c)

        return call

    if buffers.dtype == "bf16":
        return {"cuBLAS": with_library("cublas"), "cuBLASLt": with_library("cublaslt")}
    one = torch.ones((), device="cuda")

    def scaled(is_fast: bool) -> Callable[[int], None]:
        def call(i: int) -> None:
            a, b, c = buffers.sets[i]
            torch._scaled_mm(
                a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=is_fast, out=c
            )

        return call

    return {"cuBLASLt fast": scaled(True), "cuBLASLt": scaled(False)}


def of_tilewire(
    buffers: Buffers, variants: list[Variant], architecture: str
) -> dict[str, Callable[[int], None]]:
    calls = {}

    def add(name: str, kernel: tw.Kernel, variant: Variant) -> None:
        launch = kernel[variant.grid or tw.auto]
        extra = buffers.parts(variant)

        def call(i: int) -> None:
            a, b, c = buffers.sets[i]
            launch(a, b, *extra, c, **variant.constants())

        calls[f"{name} {variant}"] = call

    for variant in variants:
        kernel = matmul_static if variant.is_static else matmul
        add("tilewire", matmul_split_k if variant.splits > 1 else kernel, variant)
        if architecture != HOPPER and variant.splits == 1:
            add("through registers", matmul_through_registers, variant)
    return calls


def split_variants(shape: Shape) -> list[Variant]:
    texts = next(texts for rows, texts in SPLIT_TILES.items() if rows >= shape.M)
    variants = []
    for variant in map(Variant.parse, texts):
        tiles = num_tiles(Tiling(variant.BM, variant.BN), shape.M, shape.N)
        splits = min(SMS // tiles, -(-shape.K // variant.BK))
        for each in (splits, splits // 2):
            if each > 1:
                variants.append(dataclasses.replace(variant, splits=each))
    return variants


def default_variants(shape: Shape, dtype: str, architecture: str) -> list[Variant]:
    texts = next(texts for rows, texts in TILES.items() if rows >= shape.M)
    if architecture != HOPPER:
        texts = ["128x128x32x4", "256x128x32x4"]
    chosen = choose_tiling_of_product(tw.Target(architecture), shape.M, shape.N, tw.bf16)
    variants = [Variant(**vars(chosen)), *map(Variant.parse, texts), *split_variants(shape)]
    variants = list(dict.fromkeys(variants))
    if dtype == "fp8":  # as many bytes, summed in f32 and as the tensor cores do
        variants = [
            dataclasses.replace(each, BK=2 * each.BK, is_fast=is_fast)
            for each in variants
            for is_fast in (False, True)
        ]
    return variants


def measure(shape: Shape, dtype: str, arguments: argparse.Namespace) -> dict:
    buffers = Buffers(shape, dtype)
    architecture = arguments.architecture
    variants = arguments.tiles or default_variants(shape, dtype, architecture)
    libraries = of_libraries(buffers)
    calls = {**libraries, **of_tilewire(buffers, variants, architecture)}
    calls_of_graph = shape.calls_of_graph(1 if dtype == "fp8" else 2)
    candidates, failed = [], {}
    for name, call in calls.items():
        try:
            buffers.check(name, call)
            candidates.append(Candidate(name, call, len(buffers.sets), calls=calls_of_graph))
        except (AssertionError, tw.Error) as error:
            failed[name] = str(error).splitlines()[0]
            print(f"  {name}: {failed[name]}", flush=True)
    result: dict = {"failed": failed} if failed else {}
    for regime in regimes(arguments.regimes, arguments.rounds):
        with Clocks(torch.cuda.current_device()) as clocks:
            times = regime.measure(candidates)
        found = summary(shape, times)
        found["clocks"] = clocks.summary()
        ours = [name for name in calls if name.startswith("tilewire")]
        found["library_over_tilewire"] = ratio(found["us"], ours, libraries)
        result[regime.name] = found
    return result


def main() -> None:
    arguments = product_arguments.of_matmul(description=__doc__)
    with compiled_for(arguments.architecture):
        run(arguments)


def run(arguments: argparse.Namespace) -> None:
    result: dict = {"benchmark": "matmul", "machine": machine()}
    if arguments.architecture != HOPPER:
        result["architecture"] = arguments.architecture
    for dtype in arguments.dtype:
        result[dtype] = {}
        for shape in arguments.shapes:
            found = result[dtype][str(shape)] = measure(shape, dtype, arguments)
            measured = {name: each for name, each in found.items() if name != "failed"}
            best = ", ".join(
                f"{name} {each['library_over_tilewire']}" for name, each in measured.items()
            )
            reference = "cuBLAS" if dtype == "bf16" else "cuBLASLt fast"
            title = f"{dtype} {shape}: best library / best tilewire: {best}"
            print(table(title, measured, reference), flush=True)
            if arguments.json:
                write(arguments.json, result)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
