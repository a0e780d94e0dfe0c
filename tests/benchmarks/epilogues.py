"""What an epilogue costs behind a product, on one GPU.

    python tests/benchmarks/epilogues.py [--json result.json] [--shapes 4096x8192x14336,1024]
        [--tiles 128x256x64x4 …] [--regimes rested sustained] [--rounds 7]

bf16, inputs N(0, 1), each call with the next set of buffers, as in matmul.py. Beside the product
alone, of cuBLAS and of tilewire, stand those with an epilogue of `tilewire.ops` in the same
kernel, cuBLASLt's own where it has one, and cuBLAS followed by one kernel for the rest. All are
checked against float64 first; figures are medians of rounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import product_arguments
import tilewire as tw
import torch
from matmul_kernels import matmul_with_epilogue
from product_report import Shape, Variant, copies_beyond_cache, summary, table
from regimes import Candidate, Clocks, regimes
from tilewire.ops import HALF, Epilogue
from tilewire.ops.kernels.collectives import finish_kernel
from tilewire.ops.tiling import choose_tiling_of_product
from timing import machine, write

BOUND = 2.0**-6  # relative to the largest element: two roundings to bf16, of the unfused pair
FINISH_TILE = {"BM": 16, "BN": 512}


class Problem:
    """Sets of operands of one shape, and the arrays that epilogues take."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        M, N, K = shape
        num_bytes = 2 * (M * K + N * K + 2 * M * N)
        generator = torch.Generator("cuda").manual_seed(1)

        def random(*extents: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
            return torch.randn(extents, device="cuda", generator=generator).to(dtype)

        self.bias = random(N)
        self.row_scale = random(M, dtype=torch.float32).abs() + 0.5
        self.column_scale = random(N, dtype=torch.float32).abs() + 0.5
        self.sets = [
            (random(M, K), random(N, K) / K**0.5, random(M, N), random(M, N))
            for _ in range(copies_beyond_cache(num_bytes))
        ]

    def forms(self) -> dict[str, Callable[[torch.Tensor], Epilogue]]:
        """By name, the epilogue for a residual."""
        scales = {"row_scale": self.row_scale, "column_scale": self.column_scale}
        return {
            "nothing": lambda _: Epilogue(),
            "scales": lambda _: Epilogue(**scales),
            "bias, gelu_tanh": lambda _: Epilogue(bias=self.bias, activation="gelu_tanh"),
            "bias, gelu": lambda _: Epilogue(bias=self.bias, activation="gelu"),
            "residual": lambda residual: Epilogue(residual=residual),
            "silu_and_mul": lambda _: Epilogue(activation="silu_and_mul"),
            "all": lambda residual: Epilogue(
                **scales, bias=self.bias, activation="silu", residual=residual
            ),
        }

    def result(self, epilogue: Epilogue, c: torch.Tensor) -> torch.Tensor:
        """Where the result of an epilogue lies in c."""
        return c[:, : c.shape[1] // 2] if epilogue.form.is_paired else c

    def expected(self, epilogue: Epilogue, product: torch.Tensor, rows: slice) -> torch.Tensor:
        """In float64, of some rows of the product."""
        total = product
        if epilogue.row_scale is not None:
            total = total * epilogue.row_scale[rows, None].double() * epilogue.column_scale.double()
        if epilogue.bias is not None:
            total = total + epilogue.bias.double()
        functional = torch.nn.functional
        if epilogue.activation == "silu_and_mul":
            blocks = total.reshape(total.shape[0], -1, 2, HALF)
            total = (functional.silu(blocks[:, :, 0]) * blocks[:, :, 1]).flatten(1)
        elif epilogue.activation == "silu":
            total = functional.silu(total)
        elif epilogue.activation is not None:
            kind = "tanh" if epilogue.activation == "gelu_tanh" else "none"
            total = functional.gelu(total, approximate=kind)
        if epilogue.residual is not None:
            total = total + epilogue.residual[rows].double()
        return total

    def check(self, name: str, call: Callable[[int], Epilogue]) -> None:
        """AssertionError where the first and the last set's result is wrong."""
        for i in {0, len(self.sets) - 1}:
            a, b, _, c = self.sets[i]
            c.fill_(torch.nan)
            epilogue = call(i)
            torch.cuda.synchronize()
            found = self.result(epilogue, c)
            for first in range(0, self.shape.M, 2048):  # float64 takes room
                rows = slice(first, first + 2048)
                expected = self.expected(epilogue, a[rows].double() @ b.double().t(), rows)
                error = (found[rows].double() - expected).abs().max() / expected.abs().max()
                off = float(error.nan_to_num(nan=torch.inf))
                assert off <= BOUND, f"{name} at {self.shape}: {off} off, {BOUND} is the bound"


def candidates(problem: Problem, variants: list[Variant]) -> dict[str, Callable[[int], Epilogue]]:
    """By name, what is called with the number of a set; it tells which epilogue it had."""
    calls: dict[str, Callable[[int], Epilogue]] = {}

    def cublas(i: int) -> Epilogue:
        a, b, _, c = problem.sets[i]
        torch.matmul(a, b.t(), out=c)
        return Epilogue()

    def with_gelu(i: int) -> Epilogue:
        a, b, _, c = problem.sets[i]
        torch._addmm_activation(problem.bias, a, b.t(), use_gelu=True, out=c)
        return Epilogue(bias=problem.bias, activation="gelu_tanh")

    calls["cuBLAS"] = cublas
    calls["cuBLASLt: bias, gelu_tanh"] = with_gelu
    for name, epilogue_of in problem.forms().items():
        add_unfused(calls, problem, name, epilogue_of)
        for variant in variants:
            add_fused(calls, problem, name, epilogue_of, variant)
    return calls


def add_unfused(calls: dict, problem: Problem, name: str, epilogue_of: Callable) -> None:
    form = epilogue_of(problem.sets[0][2]).form
    if not form:
        return
    product = torch.empty(*problem.shape[:2], device="cuda", dtype=torch.bfloat16)

    def call(i: int) -> Epilogue:
        a, b, residual, c = problem.sets[i]
        epilogue = epilogue_of(residual)
        torch.matmul(a, b.t(), out=product)
        arrays = epilogue.operands(form, "M")
        finish_kernel(form)[tw.auto](product, arrays, problem.result(epilogue, c), **FINISH_TILE)
        return epilogue

    calls[f"cuBLAS, then: {name}"] = call


def add_fused(
    calls: dict, problem: Problem, name: str, epilogue_of: Callable, variant: Variant
) -> None:
    def call(i: int) -> Epilogue:
        a, b, residual, c = problem.sets[i]
        epilogue = epilogue_of(residual)
        kernel = matmul_with_epilogue(epilogue.form)
        arrays = epilogue.operands(epilogue.form, "M")
        kernel[tw.auto](a, b, arrays, problem.result(epilogue, c), **variant.constants())
        return epilogue

    calls[f"tilewire {variant}: {name}"] = call


def measure(shape: Shape, arguments: argparse.Namespace) -> dict:
    problem = Problem(shape)
    chosen = choose_tiling_of_product(tw.Target("sm_90a"), shape.M, shape.N, tw.bf16)
    calls = candidates(problem, arguments.tiles or [Variant(**vars(chosen))])
    timed = []
    for name, call in calls.items():
        problem.check(name, call)
        num_calls = shape.calls_of_graph(2)
        timed.append(Candidate(name, call, len(problem.sets), calls=num_calls))
    result = {}
    for regime in regimes(arguments.regimes, arguments.rounds):
        with Clocks(torch.cuda.current_device()) as clocks:
            result[regime.name] = summary(shape, regime.measure(timed))
        result[regime.name]["clocks"] = clocks.summary()
    return result


def main() -> None:
    arguments = product_arguments.of_epilogues(description=__doc__)
    result: dict = {"benchmark": "epilogues", "machine": machine(), "dtype": "bf16", "shapes": {}}
    for shape in arguments.shapes:
        found = result["shapes"][str(shape)] = measure(shape, arguments)
        print(table(str(shape), found, "cuBLAS"), flush=True)
        if arguments.json:
            write(arguments.json, result)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
