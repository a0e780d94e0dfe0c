"""Products whose K is divided among program instances, and what they meet by (`tw.arrive`)."""

import re

import matmul_kernels
import numpy as np
import op_cases
import pytest
import tilewire as tw
from op_cases.run import emit
from tilewire import _tilewire


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def product(M, N, K, S, grid=tw.auto, **constants):
    """The result's bits, which are right."""
    a, b = numbers(M, K), numbers(N, K, seed=1)
    tiles = -(-M // 16) * -(-N // 32)
    parts, c = (np.full(shape, np.nan, np.float32) for shape in ((tiles, S, 16, 32), (M, N)))
    matmul_kernels.matmul_split_k[grid](a, b, parts, c, BK=16, **constants)
    assert np.allclose(c, a.astype(float) @ b.T.astype(float), atol=1e-2)
    return c


@pytest.mark.parametrize("S", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("shape", [(1, 1, 1), (16, 32, 64), (33, 70, 100), (5, 40, 333), (3, 3, 0)])
def test_any_shape_in_any_number_of_parts(shape, S):
    first = product(*shape, S, grid=1)
    for options in ({}, {"grid": 5}, {"grid": 6, "CLUSTER": 2}, {"GROUP": 1}):
        assert (product(*shape, S, **options) == first).all()  # the same order: the same bits


def text_of(kernel, **given):
    """CUDA text for sm_90a, of contiguous arrays that tensor maps describe."""
    texts = {name: str(each) for name, each in given.items()}
    program = kernel.program("sm_90a", kernel.specialise_text(texts))
    program.assume_ordinary_facts()
    return _tilewire.emit_stage(program, tw.Target("sm_90a"), "cuda").decode()


@tw.kernel
def under_seeds(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    parts: tw.Tensor["S", "M", "N"], c: tw.Tensor["M", "N"], *, S: tw.const, ARRIVES: tw.const
):  # fmt: skip
    tw.barrier(team="local", scope="grid")  # instances that wait are fibers, which a seed orders
    for t in tw.persistent(tw.tiles(M, N, 8, 8, k=K, block_k=8, split_k=S)):
        part = tw.matmul(a[t.m, t.k], b[t.n, t.k].T, block_k=8)
        tw.store(parts[t.k_part, t.m, t.n], part)
        is_last = tw.arrive(t) if ARRIVES else t.k_part == S - 1
        if is_last:
            total = tw.zeros((8, 8), tw.f32)
            for s in range(S):
                total += tw.load(parts[s, t.m, t.n])
            tw.store(c[t.m, t.n], total)


def wrong_seeds(arrives):
    a, b = numbers(20, 50), numbers(9, 50, seed=1)
    expected = a.astype(float) @ b.T.astype(float)
    wrong = 0
    for seed in range(30):
        with tw.init(virtual="1", seed=seed):
            parts = np.full((4, 20, 9), np.nan, np.float32)
            c = np.full((20, 9), np.nan, np.float32)
            for _ in range(2):  # the second launch finds what the first one left
                under_seeds[5](a, b, parts, c, ARRIVES=arrives)
                wrong += not np.allclose(c, expected, atol=1e-2)
                parts[:], c[:] = np.nan, np.nan
    return wrong


def test_under_seeds():
    assert wrong_seeds(True) == 0
    assert wrong_seeds(False) > 0  # so the seeds would show it


def test_the_number_of_parts_may_be_known_at_run_time():
    @tw.kernel
    def count_parts(x: tw.Tensor["K"], seen: tw.Tensor["K"], last: tw.Tensor["P", 2]):
        for t in tw.persistent(tw.tiles(2, 1, 1, 1, k=K, block_k=4, split_k=P)):
            part = x[t.k]
            first = t.k_part * tw.cdiv(K, 4 * P) * 4
            for i in range(part.shape[0]):
                tw.atomic_add(seen[first + i], tw.load(part[i]))
            tw.atomic_add(last[t.k_part, t.local_index], tw.arrive(t).to(tw.i32))

    for K, P in ((1, 1), (17, 3), (8, 5)):
        seen, last = np.zeros(K, np.int32), np.zeros((P, 2), np.int32)
        count_parts[3](np.arange(K, dtype=np.int32), seen, last)
        assert (seen == 2 * np.arange(K)).all()  # of two tiles, each part once
        assert (last.sum(axis=0) == 1).all()  # one of each tile's parts is its last


@pytest.mark.parametrize("name", ["split_k", "split_k_in_clusters", "split_k_in_batches"])
def test_is_staged(name):
    """A producer brings both operands, whose parts end with a block or with K; consumers alone meet
    the other instances, and the producer doesn't wait for them."""
    case = op_cases.CASES[name]
    for dtype in case.dtypes:
        text = emit(case, dtype, "sm_90a", "cuda").decode()
        producer, consumers = text.split("tw::is_producer")[1].split("tw::take_registers")
        # In a cluster it says once more how it goes on for a tile that isn't there.
        assert len(re.findall(r"next\w*\.load<", producer)) in (2, 4)
        assert "arrive" not in producer
        assert consumers.count("tw::multiply") == 1 and consumers.count("tw::arrive_last(") == 1
        assert "hand_over" not in text and "tw::load<Staged" not in text


def test_a_part_that_ends_inside_of_a_block_is_not():
    """Where TMA would bring columns of the next part."""

    @tw.kernel
    def uneven(a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
               c: tw.Tensor[3, "M", "N"], *, STEP: tw.const):  # fmt: skip
        for t in tw.persistent(tw.tiles(M, N, 64, 64)):
            for s in range(3):
                left, right = a[:, s * STEP : s * STEP + STEP], b[:, s * STEP : s * STEP + STEP]
                tw.store(c[s, t.m, t.n], tw.matmul(left[t.m, :], right[t.n, :].T, block_k=64))

    for step, is_staged in ((128, True), (96, False)):
        a, b = numbers(40, 304), numbers(30, 304, seed=1)
        c = np.full((3, 40, 30), np.nan, np.float32)
        uneven[2](a, b, c, STEP=step)
        for s in range(3):
            columns = slice(s * step, s * step + step)
            expected = a[:, columns].astype(float) @ b[:, columns].T.astype(float)
            assert np.allclose(c[s], expected, atol=1e-2)
        text = text_of(uneven, a="bf16[?,?]", b="bf16[?,?]", c="f32[3,?,?]", STEP=step)
        assert ("tw::is_producer" in text) == is_staged


@tw.kernel
def some_arrive(x: tw.Tensor["N"], *, COUNT: tw.const, PLACE: tw.const):
    if tw.arrive(PLACE, count=COUNT, places=N):
        tw.store(x[PLACE], tw.program_id(0) * 0 + COUNT)


def test_a_place_of_ones_own():
    x = np.full(3, -1, np.int32)
    for _ in range(3):
        some_arrive[4](x, COUNT=4, PLACE=1)
        assert x.tolist() == [-1, 4, -1]


def test_too_few_arrive():
    x = np.full(3, -1, np.int32)
    with pytest.raises(tw.UserError, match=r"`some_arrive`: 2 arrived at one place of an `arrive`"):
        some_arrive[2](x, COUNT=3, PLACE=1)
    some_arrive[3](x, COUNT=3, PLACE=1)  # the next launch counts from 0
    assert x[1] == 3


def test_a_place_that_is_not_there():
    with pytest.raises(tw.DeviceAssertionError, match=r"there is no such place.*place 3 of 3"):
        some_arrive[1](np.full(3, -1, np.int32), COUNT=1, PLACE=3)


def refused(kernel, *args, **constants):
    with pytest.raises(tw.UserError) as caught:
        kernel[1](*args, **constants)
    return str(caught.value)


def test_places_that_the_host_cannot_count():
    x = np.zeros((4, 4), np.int32)

    @tw.kernel
    def places_from_memory(x: tw.Tensor["M", "N"]):
        if tw.arrive(0, count=1, places=tw.load(x[0, 0])):
            tw.store(x[0, 0], 1)

    assert "compute it from extents of arrays" in refused(places_from_memory, x)


@tw.kernel
def split_in_static_parts(
    a: tw.constant(tw.Tensor["M", "K"]), b: tw.constant(tw.Tensor["N", "K"]),
    parts: tw.Tensor["S", "M", "N"], *, S: tw.const, K: tw.const
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 64, 64, k=K, block_k=64, split_k=S)):
        tw.store(parts[t.k_part, t.m, t.n], tw.matmul(a[t.m, t.k], b[t.n, t.k].T, block_k=64))


@pytest.mark.parametrize(("K", "S"), [(8192, 3), (1000, 2), (8192, 4)])
def test_the_same_text_each_time_of_a_static_k(K, S):
    def text():
        return text_of(
            split_in_static_parts, a=f"bf16[?, {K}]", b=f"bf16[?, {K}]", parts=f"f32[{S}, ?, ?]",
            S=S, K=K,
        )  # fmt: skip

    first = text()
    assert "Ring<" in first
    assert all(text() == first for _ in range(20))


@tw.kernel
def arrive_for_each_rank(x: tw.Window["N"]):
    for _ in tw.ranks():
        if tw.arrive(0, count=tw.world_size() * tw.num_programs(0), places=1):
            tw.atomic_add(x[0], 1)


@pytest.mark.parametrize("world", [2, 8, 9])
def test_loops_over_ranks_arrive_alike_unrolled_or_not(world):
    with tw.init(virtual=str(world)) as comm:
        x = comm.window((1,), tw.i32)
        arrive_for_each_rank[2](x)
        assert all(x.at(rank)[0] == 1 for rank in range(world))


def test_more_places_than_memory_has_room_for():
    @tw.kernel
    def everywhere(x: tw.Tensor["N"]):
        if tw.arrive(0, count=1, places=N * (1 << 40)):
            tw.store(x[0], 1.0)

    with pytest.raises(tw.UserError, match="places"):
        everywhere[1](np.zeros(4, np.float32))
