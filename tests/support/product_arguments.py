"""Command lines of the benchmarks of products. Needs no GPU."""

from __future__ import annotations

import argparse
from pathlib import Path

from product_report import (
    CUBES,
    FEW_ROWS,
    LARGE,
    LONG_K,
    MIDDLE_K,
    SHORT_K,
    SMALL_M,
    Variant,
    parse_shapes,
)

REGIMES = ("rested", "sustained")


def _parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="where results are written")
    parser.add_argument("--tiles", nargs="+", type=Variant.parse, default=[], help="what to try")
    parser.add_argument("--regimes", nargs="+", choices=REGIMES, default=list(REGIMES))
    parser.add_argument("--rounds", type=int, default=7)
    return parser


def of_matmul(given: list[str] | None = None, description: str | None = None) -> argparse.Namespace:
    parser = _parser(description)
    parser.add_argument("--dtype", nargs="+", choices=["bf16", "fp8"], default=["bf16"])
    parser.add_argument("--architecture", default="sm_90a", help="what tilewire compiles for")
    every = list(dict.fromkeys([*LARGE, *SMALL_M, *CUBES, *FEW_ROWS, *LONG_K]))
    parser.add_argument("--shapes", type=parse_shapes, default=every)
    return parser.parse_args(given)


def of_epilogues(
    given: list[str] | None = None, description: str | None = None
) -> argparse.Namespace:
    parser = _parser(description)
    parser.add_argument("--shapes", type=parse_shapes, default=[*MIDDLE_K, *SHORT_K])
    return parser.parse_args(given)


def of_communication(
    given: list[str] | None = None, description: str | None = None
) -> argparse.Namespace:
    names = ["reduce-scatter", "all-gather", "all-reduce"]
    parser = _parser(description)
    parser.add_argument("--ops", nargs="+", choices=names, default=names)
    parser.add_argument("--shapes", type=parse_shapes, help="instead of each operation's own")
    parser.add_argument("--capture-torch", action="store_true", help="its operators in graphs too")
    return parser.parse_args(given)
