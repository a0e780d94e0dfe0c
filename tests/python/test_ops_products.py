"""`tilewire.ops` on CPU worlds: shapes that nothing divides, seeds, epilogues, against float64."""

import dataclasses

import numpy as np
import pytest
import tilewire as tw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ops_problems import PARTS, Problem
from tilewire import ops
from tilewire.ops import shard_copies

OPS = [
    "gemm_reduce_scatter",
    "all_gather_gemm",
    "all_gather_gemm by copies",
    "gemm_all_reduce",
    "gemm_all_reduce by channels",
    "gemm_all_reduce by flags",
]
WORLDS = ["1", "2", "3", "8"]
TILING = ops.Tiling(BM=16, BN=32, BK=16)
WIDE = ops.Tiling(BM=16, BN=128, BK=16)
# M, N, K: the largest first. One where all ranks but one have no row, one without any, and rows
# that fit no tile; K where ranks have none of it.
SHAPES = [(77, 70, 61), (1, 1, 3), (0, 33, 20), (5, 70, 2), (33, 17, 61), (64, 64, 32), (9, 5, 1)]


def problem(name, size, M, N, K, **more):
    return Problem(name.partition(" ")[0], size, M, N, K, **more)


def options_for(name, mode="fused", tiling=TILING):
    options = {"mode": mode, "tiling": tiling, "grid": 3}
    if name.startswith("gemm_all_reduce"):
        options["way"] = name.partition(" by ")[2] or "owners"
    if name.startswith("all_gather_gemm"):
        options["transport"] = "copies" if name.endswith("copies") else "stores"
    return options


@pytest.fixture(autouse=True)
def small_copies(monkeypatch):
    monkeypatch.setattr(shard_copies, "PIECE_BYTES", 1000)


def poisoned(comm, each, rank):
    """What the result is written to; of an all-reduce, the object's own."""
    if each.op == "gemm_all_reduce":
        return None
    rows = each.rows(rank)
    return np.full((rows.stop - rows.start, each.columns), np.nan, np.float32)


def run(comm, problems, **options):
    """The first is the largest. Launches follow each other, and ranks run apart."""
    largest = problems[0]
    op = largest.make(comm, **options)
    made = {largest.K: op}
    for each in problems:
        if not each.is_reducing and each.K not in made:
            made[each.K] = dataclasses.replace(each, M=largest.M).make(comm, **options)
        op = made.get(each.K, op)
        found = each.call(op, comm.rank, poisoned(comm, each, comm.rank))
        each.check(found, comm.rank)


@pytest.mark.parametrize("mode", ["fused", "unfused"])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", OPS)
def test_is_right_for_any_shape(name, world, mode):
    problems = [
        problem(name, int(world), *shape, seed=n) for n, shape in enumerate([*SHAPES, *SHAPES])
    ]
    for seed in range(1 if world == "1" else 3):
        tw.spawn(
            lambda comm: run(comm, problems, **options_for(name, mode)), world=world, seed=seed
        )


@pytest.mark.parametrize("mode", ["fused", "unfused"])
@pytest.mark.parametrize("name", OPS)
def test_is_right_with_every_epilogue(name, mode):
    forms = [((part,), None) for part in PARTS]
    forms += [((), activation) for activation in ("gelu", "gelu_tanh", "relu", "silu")]
    forms += [(PARTS, "gelu"), (PARTS, "silu_and_mul"), ((), "silu_and_mul")]
    problems = [
        problem(name, 2, 37, 128, 40, parts=parts, activation=activation)
        for parts, activation in forms
    ]
    options = options_for(name, mode, WIDE)
    tw.spawn(lambda comm: run(comm, problems, **options), world="2", seed=1)


@pytest.mark.parametrize("name", OPS)
def test_all_of_an_epilogue_on_eight_ranks(name):
    each = problem(name, 8, 61, 256, 50, parts=PARTS, activation="silu_and_mul")
    tw.spawn(lambda comm: run(comm, [each, each], **options_for(name, "fused", WIDE)), world="8")


@pytest.mark.parametrize("operand", ["f16", "e4m3", "f32"])
@pytest.mark.parametrize("name", OPS)
def test_other_dtypes(name, operand):
    parts = ("scale",) if operand == "e4m3" else ()
    each = problem(name, 3, 37, 40, 45, operand=operand, parts=parts)
    options = {**options_for(name), "precision": "ieee"}
    tw.spawn(lambda comm: run(comm, [each], **options), world="3")


def worst_errors(name, mode, world):
    """The largest error and the mean square one over all ranks, of bf16 results."""
    each = problem(name, int(world), 96, 96, 512, dtype="bf16")

    def main(comm):
        op = each.make(comm, **options_for(name, mode))
        found = np.asarray(each.call(op, comm.rank)).astype(np.float64)
        off = np.abs(found - each.expected(comm.rank))
        return off.max(), np.mean(off * off)

    largest, squares = zip(*tw.spawn(main, world=world), strict=True)
    return max(largest), np.mean(squares)


@pytest.mark.parametrize("world", ["2", "8"])
@pytest.mark.parametrize("name", OPS)
def test_the_error_is_no_worse_than_that_of_the_unfused_pair(name, world):
    fused, unfused = (worst_errors(name, mode, world) for mode in ("fused", "unfused"))
    assert 0 < fused[1] <= 1.01 * unfused[1]
    assert fused[0] <= 1.5 * unfused[0]  # the worst of 9,216 elements is a matter of luck


@pytest.mark.parametrize("name", OPS)
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(M=st.integers(0, 50), N=st.integers(1, 50), K=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_is_right_for_random_shapes(name, M, N, K, seed):
    each = problem(name, 3, M, N, K, seed=seed)
    tw.spawn(lambda comm: run(comm, [each, each], **options_for(name)), world="3", seed=seed)


@pytest.mark.parametrize("name", OPS)
def test_is_right_under_every_seed(name):
    problems = [problem(name, 3, 41, 40, 20, seed=n) for n in range(3)]
    for seed in range(100):
        tw.spawn(lambda comm: run(comm, problems, **options_for(name)), world="3", seed=seed)


@pytest.mark.parametrize("name", OPS[:4])
def test_runs_repeat_bit_for_bit(name):
    each = problem(name, 3, 41, 40, 20, dtype="bf16")

    def main(comm):
        op = each.make(comm, **options_for(name))
        return np.array(each.call(op, comm.rank)).tobytes()

    results = {tuple(tw.spawn(main, world="3", seed=seed)) for seed in range(10)}
    assert len(results) == 1


@pytest.mark.parametrize("name", OPS[3:])
def test_all_ranks_get_the_same_bits_of_an_all_reduce(name):
    each = problem(name, 3, 41, 40, 20, dtype="bf16")

    def main(comm):
        return np.array(each.call(each.make(comm, **options_for(name)), comm.rank)).tobytes()

    assert len(set(tw.spawn(main, world="3"))) == 1
