"""Whether a product and its communication are one kernel or two.

All ranks must choose alike: a rule looks at what is the same on all of them, never at a rank's own
memory. The first rule that applies decides; where none does, one kernel it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tilewire._tilewire import DType
from tilewire.errors import UserError

MODES = ("auto", "fused", "unfused")


NEITHER_FEW_NOR_MANY = range(33, 1024)
"""Numbers of rows with too few tiles for their way over the links to hide behind products, and too
much on its way for it not to count. Measured at 16, 128 and 2048."""


class Problem(NamedTuple):
    """What a choice may depend on."""

    op: str  # "gemm_reduce_scatter", "all_gather_gemm" or "gemm_all_reduce"
    M: int  # rows of all ranks
    width: int  # columns of what crosses the links: N of a sum, K of what is gathered
    world_size: int
    dtype: DType  # of the operands
    architecture: str  # "cpu", "sm_90a"


class Rule(NamedTuple):
    """`mode` where `applies`. `reason`: the measurement behind it, or why there need be none."""

    mode: str
    applies: Callable[[Problem], bool]
    reason: str


RULES = (
    Rule(
        "fused",
        lambda problem: problem.architecture == "cpu",
        "the CPU target runs one program after the other either way",
    ),
    Rule(
        "fused",
        lambda problem: problem.dtype.num_bytes == 1,
        "cuBLAS takes fp8 where N and K are multiples of 16, and a rank's K may be its own",
    ),
    Rule(
        "unfused",
        lambda problem: not problem.architecture.startswith("sm_90"),
        "other GPUs than Hopper's have a product that is right, not one as fast as the library's",
    ),
    Rule(
        "unfused",
        lambda problem: (
            problem.op == "all_gather_gemm" and problem.width * problem.dtype.num_bytes % 16 != 0
        ),
        "rows that aren't whole 16-byte words can't be loaded by TMA, and take the slower way",
    ),
    Rule(
        "unfused",
        lambda problem: problem.M in NEITHER_FEW_NOR_MANY,
        "on two H200 two kernels take 0.65 to 0.8 of one's time at 128 rows, 1.08 at 16, and "
        "as long at 2048 (docs/performance.md)",
    ),
)


def choose(mode: str, problem: Problem, has_library: bool = True) -> str:
    """Fused or unfused, for what the user said. `has_library`: whether there is a product besides
    tilewire's own."""
    if mode != "auto":
        return mode
    rule = next((each for each in RULES if each.applies(problem)), None)
    return "fused" if rule is None or not has_library else rule.mode


ROWS_TO_ALL = 64
"""That a rank sends at most, to all peers together, where an all-reduce sends all to all: one hop,
but each row as often as there are peers, where owners of parts take two hops and two rows. On two
H200 one hop takes 0.59 of the time of two at 16 rows, and 1.17 at 128."""


def most_rows_to_all(world_size: int) -> int:
    """M up to which an all-reduce sends all to all."""
    return ROWS_TO_ALL // max(world_size - 1, 1)


WAY_OF_FEW = "channels"
"""A tile announces itself, which saves a fence and a hop of the flag: 2 to 3 us of 33, measured on
two H200 at 16 rows. "flags" is the other way."""


def check_mode(what: str, mode: str) -> None:
    if mode not in MODES:
        raise UserError(f"{what}: mode= is one of {', '.join(map(repr, MODES))}, found {mode!r}")
