"""Attention of one GPU, written as a page of tiles, beside PyTorch's.

    python tests/benchmarks/attention.py [--shapes 32x4096x4096x128,…] [--rounds 5] [--json file]

Shapes are heads x queries x keys x elements of a head, bf16. Both products count as FLOPs.
PyTorch's are cuDNN's and FlashAttention's. Calls in graphs, interleaved, medians of rounds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from regimes import Candidate, Clocks, regimes
from timing import machine, write
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import tilewire as tw
from architecture import compiled_for
from attention_kernels import attention

SHAPES = "32x4096x4096x128,32x4096x4096x64,16x1000x3000x128"
TILES = {
    "sm_90a": {64: [(128, 128), (192, 128), (128, 64)], 128: [(128, 128), (128, 64)]},
    "sm_90": {64: [(64, 64), (128, 64)], 128: [(64, 64), (64, 32)]},  # no wgmma
}
LIBRARIES = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
# bf16 results that are means of N(0, 1), and weights of 8 bits.
TOLERANCE = 2.0**-6


class Problem:
    def __init__(self, B: int, M: int, N: int, D: int) -> None:
        generator = torch.Generator("cuda").manual_seed(1)

        def random(rows: int) -> torch.Tensor:
            made = torch.randn(B, rows, D, device="cuda", generator=generator)
            return made.to(torch.bfloat16)

        self.q, self.k, self.v = random(M), random(N), random(N)
        self.scale, self.flops = D**-0.5, 4 * B * M * N * D
        self.own = torch.full_like(self.q, torch.nan)

    def library(self, backend: SDPBackend) -> torch.Tensor:
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(
                *(each[None] for each in (self.q, self.k, self.v)), scale=self.scale
            )[0]

    def tilewire(self, BM: int, BN: int) -> torch.Tensor:
        D = self.q.shape[2]
        attention[tw.auto](self.q, self.k, self.v, self.own, self.scale, D=D, BM=BM, BN=BN)
        return self.own

    def check(self, name: str, out: torch.Tensor) -> float:
        """How far a result is off."""
        score = self.scale * self.q[:2].double() @ self.k[:2].double().mT
        expected = torch.softmax(score, -1) @ self.v[:2].double()
        off = (out[:2].double() - expected).abs().nan_to_num(torch.inf).max().item()
        assert off <= TOLERANCE, f"{name}: {off:.1e} off"
        return off


def measure(shape: tuple[int, ...], rounds: int, architecture: str) -> dict:
    problem = Problem(*shape)
    calls = {name: (problem.library, each) for name, each in LIBRARIES.items()}
    tiles = TILES[architecture][shape[3]]
    calls |= {f"tilewire {BM}x{BN}": (problem.tilewire, BM, BN) for BM, BN in tiles}
    candidates, result = [], {"failed": {}, "off": {}}
    for name, (call, *given) in calls.items():
        try:
            problem.own.fill_(torch.nan)
            result["off"][name] = problem.check(name, call(*given))
            candidates.append(Candidate(name, lambda _, c=call, g=given: c(*g), 1))
        except (AssertionError, RuntimeError, tw.Error) as error:
            result["failed"][name] = str(error).splitlines()[0]
            print(f"  {name}: {result['failed'][name]}")
    for regime in regimes(["rested", "sustained"], rounds):
        with Clocks(torch.cuda.current_device()) as clocks:
            us = regime.measure(candidates).medians()
        tflops = {name: problem.flops / time / 1e6 for name, time in us.items()}
        result[regime.name] = {"us": us, "tflops": tflops, "clocks": clocks.summary()}
        for name in us:
            print(f"  {name:18} {regime.name:9} {us[name]:9.1f} us {tflops[name]:6.0f} TFLOP/s")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--architecture", choices=TILES, default="sm_90a")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    architecture = arguments.architecture
    result: dict = {"benchmark": "attention", "machine": machine(), "architecture": architecture}
    for text in arguments.shapes.split(","):
        print(text)
        shape = tuple(map(int, text.split("x")))
        with compiled_for(architecture):
            result[text] = measure(shape, arguments.rounds, architecture)
    if arguments.json:
        write(arguments.json, result)


if __name__ == "__main__":
    main()
