"""Benchmarks of matrix products, as far as they need no GPU: shapes and variants as text, what is
computed of measured times, tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

L2_BYTES = 60 << 20  # of an H100 or H200, and some more: buffers rotate beyond it


class Shape(NamedTuple):
    M: int
    N: int
    K: int

    def __str__(self) -> str:
        return f"{self.M}x{self.N}x{self.K}"

    def tflops(self, us: float) -> float:
        return round(2 * self.M * self.N * self.K / us / 1e6, 1)

    def calls_of_graph(self, element_bytes: int) -> int:
        """So many that they take about half a millisecond, 10 to 100: a graph's start, and that of
        a clock that rested, count for little then."""
        num_bytes = element_bytes * (self.M * self.K + self.N * self.K + self.M * self.N)
        us = max(2 * self.M * self.N * self.K / 700e6, num_bytes / 4e6) + 2
        return max(10, min(100, round(500 / us)))


def parse_shapes(text: str) -> list[Shape]:
    """`4096x8192x14336,1024` as shapes: M x N x K, or one number for all three."""
    shapes = []
    for part in text.split(","):
        numbers = [int(each) for each in part.split("x")]
        if len(numbers) not in (1, 3) or min(numbers) < 1:
            raise ValueError(f"{part!r} is no shape: write 4096x8192x14336, or 4096 for a cube")
        shapes.append(Shape(*numbers * (3 if len(numbers) == 1 else 1)))
    return shapes


# Of the figures to beat, per rank; cubes; and few rows.
LARGE = parse_shapes("4096x8192x14336,8192x8192x4096,8192x4096x7168,8192x8192x8192,2048x8192x4096")
GATHERED = parse_shapes("4096x8192x28672,8192x8192x8192")  # over all ranks
SMALL_M = parse_shapes("128x8192x28672,16x8192x8192")  # over all ranks
CUBES = parse_shapes("1024,2048,4096")
FEW_ROWS = parse_shapes("1x8192x8192,16x8192x8192,64x8192x8192,128x8192x8192")
# Few tiles of results, each of a long K.
LONG_K = parse_shapes("16x1024x16384,64x512x8192,128x1024x8192,256x256x16384,128x2048x8192")
LONG_K += parse_shapes("1024x1024x8192")
# What stands behind a product takes a larger part of a short K.
MIDDLE_K = parse_shapes("4096x8192x14336,8192x8192x4096")
SHORT_K = parse_shapes("8192x8192x1024")


OPTIONS = {"g": "GROUP", "c": "CLUSTER", "n": "grid", "k": "splits"}  # with a number behind


@dataclass(frozen=True)
class Variant:
    """Constants of the kernel that a benchmark tries."""

    BM: int
    BN: int
    BK: int = 64
    STAGES: int = 4
    GROUP: int = 16
    CLUSTER: int = 1
    is_static: bool = False
    is_fast: bool = False
    grid: int | None = None
    splits: int = 1

    @classmethod
    def parse(cls, text: str) -> Variant:
        """`128x256x64x4`, then any of `g8` (group), `c2` (cluster), `s` (static extents), `f`
        (fast sums of fp8), `n132` (grid), `k4` (parts of K), with colons: `128x256x64x4:g8:c2`."""
        tile, *options = text.split(":")
        numbers = [int(each) for each in tile.split("x")]
        if not 2 <= len(numbers) <= 4:
            raise ValueError(f"{text!r}: a tile is BMxBN, BMxBNxBK or BMxBNxBKxSTAGES")
        named: dict[str, int | bool] = {}
        for each in options:
            if each in ("s", "f"):
                named["is_static" if each == "s" else "is_fast"] = True
            elif each[:1] in OPTIONS and each[1:].isdigit():
                named[OPTIONS[each[0]]] = int(each[1:])
            else:
                raise ValueError(f"{text!r}: {each!r} is none of g16, c2, s, f, n132, k4")
        return cls(*numbers, **named)

    def __str__(self) -> str:
        text = f"{self.BM}x{self.BN}x{self.BK}x{self.STAGES}:g{self.GROUP}"
        text += f":c{self.CLUSTER}" if self.CLUSTER > 1 else ""
        text += (":s" if self.is_static else "") + (":f" if self.is_fast else "")
        text += f":n{self.grid}" if self.grid else ""
        return text + (f":k{self.splits}" if self.splits > 1 else "")

    def constants(self) -> dict[str, int | str]:
        """As the kernels of matmul_kernels.py take them."""
        names = ("BM", "BN", "BK", "STAGES", "GROUP", "CLUSTER")
        return {
            **{name: getattr(self, name) for name in names},
            "PRECISION": "fast" if self.is_fast else "tf32",
        }


def copies_beyond_cache(num_bytes: int, most: int = 40) -> int:
    """How many sets of buffers of so many bytes are used in turn, so that none is in the L2 cache
    when it comes again."""
    return max(2, min(most, -(-2 * L2_BYTES // max(num_bytes, 1))))


@dataclass
class Times:
    """Microseconds per call of each candidate, a figure per round."""

    rounds: dict[str, list[float]]

    def medians(self) -> dict[str, float]:
        return {name: round(statistics.median(each), 2) for name, each in self.rounds.items()}

    def spread(self) -> dict[str, float]:
        """Half the distance between the quartiles, relative to the median."""
        result = {}
        for name, each in self.rounds.items():
            if len(each) < 4:
                continue
            low, _, high = statistics.quantiles(each, n=4)
            result[name] = round((high - low) / 2 / statistics.median(each), 4)
        return result


def summary(shape: Shape, times: Times) -> dict:
    """What a regime's times of one shape come to."""
    medians = times.medians()
    return {
        "us": medians,
        "tflops": {name: shape.tflops(us) for name, us in medians.items()},
        "spread": times.spread(),
    }


def ratio(us: Mapping[str, float], ours: Iterable[str], theirs: Iterable[str]) -> float | None:
    """How fast the best of `ours` is relative to the best of `theirs`: above 1 is faster."""
    best_ours = min((us[name] for name in ours if name in us), default=None)
    best_theirs = min((us[name] for name in theirs if name in us), default=None)
    if best_ours is None or best_theirs is None:
        return None
    return round(best_theirs / best_ours, 3)


def table(title: str, result: Mapping[str, Mapping], reference: str) -> str:
    """A line per candidate: for each regime microseconds, TFLOP/s, and its time in units of the
    reference's."""
    lines = [title]
    regimes = list(result)
    names = list(dict.fromkeys(name for regime in regimes for name in result[regime]["us"]))
    width = max(map(len, names))
    for name in names:
        line = f"  {name:<{width}}"
        for regime in regimes:
            us = result[regime]["us"].get(name)
            if us is None:
                line += f"  {regime} -"
                continue
            base = result[regime]["us"].get(reference)
            times = "" if base is None else f" {us / base:6.3f}x"
            line += f"  {regime} {us:9.2f} us {result[regime]['tflops'][name]:7.1f} TFLOP/s{times}"
        lines.append(line)
    return "\n".join(lines)


def clock_summary(lines: Iterable[str]) -> dict:
    """Of what nvidia-smi says of clocks.sm, power.draw and temperature.gpu, a line of numbers per
    query: the least, the middle and the largest of each."""
    columns: list[list[float]] = [[], [], []]
    for line in lines:
        fields = [each.strip() for each in line.split(",")]
        try:
            numbers = [float(each) for each in fields]
        except ValueError:
            continue  # [N/A], or a message
        if len(numbers) == 3:
            for column, number in zip(columns, numbers, strict=True):
                column.append(number)
    names = ("sm_mhz", "watts", "celsius")
    return {
        name: [min(column), statistics.median(column), max(column)]
        for name, column in zip(names, columns, strict=True)
        if column
    }


def relative_times(result: Mapping, regime: str) -> dict[str, dict[str, dict[str, float]]]:
    """Operation or dtype → shape → candidate → time in units of the product alone: of cuBLAS's."""
    groups = result["ops"] if "ops" in result else {
        name: each for name, each in result.items() if name in ("bf16", "fp8")
    }  # fmt: skip
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, shapes in groups.items():
        found[name] = {}
        for shape, measured in shapes.items():
            us = measured[regime]["us"]
            alone = us["cuBLAS"] if "cuBLAS" in us else us["cuBLASLt fast"]
            found[name][shape] = {each: round(time / alone, 4) for each, time in us.items()}
    return found
