"""Which tiles a product is divided into."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewire._tilewire import DType, Target

SMS = 132  # of an H100 and an H200: waves are counted by them


@dataclass(frozen=True)
class Tiling:
    """Of the result, `BM` x `BN` at a time; of K, `BK` elements, `STAGES` of which are in flight.
    Tiles are done in bands of `GROUP` rows of them."""

    BM: int = 128
    BN: int = 128
    BK: int = 64
    STAGES: int = 4
    GROUP: int = 16

    def constants(self) -> dict[str, int]:
        """As kernels take them."""
        return dict(vars(self))


# Rates where nothing else counts, relative to the first, as measured on an H200 for products alone
# (docs/performance.md): 0.93 to 0.97 at 4096³ and 2048³; 0.95 at 2048³ but 0.65 at 8192³, where the
# L2 cache limits; 0.7 of the one before. K is counted in elements of 2 bytes.
HOPPER = {
    Tiling(128, 256, 64, 4): 1.0,
    Tiling(128, 128, 64, 6): 0.94,
    Tiling(64, 128, 64, 8): 0.8,
    Tiling(64, 64, 128, 6): 0.6,
}
OTHER_GPUS = {Tiling(128, 128, 32, 3): 1.0, Tiling(64, 128, 32, 3): 0.8}
CPU = {Tiling(32, 128, 64): 1.0}


def candidates_for(target: Target) -> dict[Tiling, float]:
    if not target.is_cuda:
        return CPU
    return HOPPER if target.architecture == "sm_90a" else OTHER_GPUS


def num_tiles(tiling: Tiling, M: int, N: int, parts: int = 1) -> int:
    """Of [M, N] whose rows are split into `parts`, which no tile crosses."""
    chunk = max(-(-M // parts), 1)
    whole, rest = divmod(M, chunk)
    rows = whole * -(-chunk // tiling.BM) + -(-rest // tiling.BM)
    return rows * -(-N // tiling.BN)


@functools.lru_cache
def choose_tiling(
    target: Target, M: int, N: int, dtype: DType, parts: int = 1, is_paired: bool = False
) -> Tiling:
    """For a product of [M, N]. Depends on nothing that differs by rank: ranks must agree.
    `is_paired`: columns go in blocks of 128, of which tiles hold whole ones."""
    rates = candidates_for(target)
    candidates = [each for each in rates if not is_paired or each.BN % 128 == 0]

    def time(tiling: Tiling) -> float:
        waves = -(-num_tiles(tiling, M, N, parts) // SMS)
        return waves * tiling.BM * tiling.BN / rates[tiling]

    return of_dtype(min(candidates, key=time), dtype)


FEW = {16: Tiling(16, 64, 256, 5, 1), 32: Tiling(32, 64, 128, 8, 1), 64: Tiling(64, 64, 128, 6, 1)}
"""By the number of rows that they are for at most; the last one for more, too."""


def choose_tiling_of_few(M: int, dtype: DType, is_paired: bool = False) -> Tiling:
    """Where M is so small that reading [N, K] is what takes time: enough tiles for all SMs."""
    tiling = FEW[next((rows for rows in FEW if rows >= M), 64)]
    if is_paired:
        tiling = replace(tiling, BN=128, BK=max(tiling.BK // 2, 64))
    return of_dtype(tiling, dtype)


def choose_tiling_of_product(target: Target, M: int, N: int, dtype: DType) -> Tiling:
    """For a product that meets no other rank."""
    is_few = target.architecture == "sm_90a" and max(FEW) >= M
    return choose_tiling_of_few(M, dtype) if is_few else choose_tiling(target, M, N, dtype)


def of_dtype(tiling: Tiling, dtype: DType) -> Tiling:
    """As many bytes of K, for operands of another dtype than 2 bytes."""
    return replace(tiling, BK=tiling.BK * 2 // dtype.num_bytes)


def most_tiles(target: Target, tiling: Tiling | None, M: int, N: int) -> int:
    """How many tiles [M, N] may have."""
    candidates = candidates_for(target) if tiling is None else [tiling]
    return max(num_tiles(each, M, N) for each in candidates)


def most_tiles_of_few(tiling: Tiling | None, M: int, N: int) -> int:
    return max(num_tiles(each, M, N) for each in (FEW.values() if tiling is None else [tiling]))
