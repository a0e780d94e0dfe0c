"""Multicast views on CPU worlds: right under many seeds, in other orders each time; which programs
use multimem, and which don't."""

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw
from tilewire import _tilewire

WORLDS = ["2", "3", "8"]
EPSILON = {tw.f32: 2.0**-23, tw.bf16: 2.0**-8, tw.f16: 2.0**-11, tw.f64: 2.0**-52}


@tw.kernel
def two_shot(x: tw.Window["N"], y: tw.Window["N"], *, B: tw.const):
    """Each rank sums its blocks, the last of which is cut, and stores them to all."""
    tw.barrier()
    for b in tw.persistent(tw.cdiv(tw.cdiv(N, B), tw.world_size())):
        block = tw.ds((b * tw.world_size() + tw.rank()) * B, B)
        tw.store(y.multicast()[block], tw.all_reduce_load(x.multicast()[block]))
    tw.barrier()


@tw.kernel
def add_to_all(x: tw.Window["N"], y: tw.Window["N"], *, B: tw.const):
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        tw.reduce_store(y.multicast()[block], tw.load(x[block]))
    tw.barrier()


def filled(comm, size, dtype):
    """A window of random numbers, another one of zeros, and the sum in float64."""
    x, y = comm.window((size,), dtype), comm.window((size,), dtype)
    random = np.random.default_rng(size)
    for r in range(comm.size):
        x.at(r)[...] = random.standard_normal(size).astype(x.at(r).dtype)
        y.at(r)[...] = 0
    return x, y, sum(x.at(r).astype(np.float64) for r in range(comm.size))


@pytest.mark.parametrize("dtype", [tw.f32, tw.bf16, tw.f16, tw.f64])
@pytest.mark.parametrize("world", WORLDS)
def test_sums_are_near_float64_under_every_seed(world, dtype):
    for kernel, roundings in ((two_shot, 2), (add_to_all, int(world))):
        for seed in range(40):
            with tw.init(virtual=world, seed=seed, multimem=True) as comm:
                x, y, total = filled(comm, 75, dtype)
                kernel[2](x, y, B=16)
                largest = roundings * EPSILON[dtype] * 4 * int(world)
                for r in range(comm.size):
                    np.testing.assert_allclose(
                        y.at(r).astype(np.float64), total, rtol=0, atol=largest
                    )


def test_the_order_of_sums_is_another_one_each_time():
    results = set()
    for seed in range(20):
        with tw.init(virtual="8", seed=seed, multimem=True) as comm:
            x, y, _ = filled(comm, 64, tw.f32)
            two_shot[1](x, y, B=8)
            assert all((y.at(r) == y.at(0)).all() for r in range(8))
            results.add(y.at(0).tobytes())
    assert len(results) > 10


def test_equal_seeds_give_equal_bits():
    def run():
        with tw.init(virtual="8", seed=5, multimem=True) as comm:
            x, y, _ = filled(comm, 64, tw.f32)
            two_shot[2](x, y, B=8)
            return y.at(3).tobytes()

    assert run() == run()


def test_without_waits_too():
    """Such launches run on all cores, without a scheduler."""

    @tw.kernel
    def sum_it(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const):
        tw.store(y[:], tw.all_reduce_load(x.multicast()[:], op="max"))

    with tw.init(virtual="3", multimem=True) as comm:
        x = comm.window((40,), tw.i32)
        for r in range(3):
            x.at(r)[...] = np.roll(np.arange(40), 11 * r)
        y = [np.zeros(40, np.int32) for _ in range(3)]
        sum_it[1](x, y)
        expected = np.max([np.roll(np.arange(40), 11 * r) for r in range(3)], axis=0)
        assert all((each == expected).all() for each in y)


def test_records_go_to_all_copies():
    record = tw.record(q=tw.i8[16], scale=tw.f32, source=tw.i32)

    @tw.kernel
    def tell_all(rows: tw.Window["N"]):
        i = tw.rank()
        row = record(q=tw.full((16,), i, tw.i8), scale=i.to(tw.f32) * 0.5, source=i)
        tw.store(rows.multicast()[i], row)
        tw.barrier()

    with tw.init(virtual="3", multimem=True) as comm:
        rows = comm.window((3,), record)
        tell_all[1](rows)
        for r in range(3):
            assert rows.at(r)["source"].tolist() == [0, 1, 2]
            assert (rows.at(r)["q"] == np.arange(3)[:, None]).all()
            assert rows.at(r)["scale"].tolist() == [0, 0.5, 1]


def test_parts_of_views_and_scalars():
    @tw.kernel
    def transposed(x: tw.Window[4, 6], y: tw.Window[6, 4], n: tw.Window[2]):
        tw.barrier()
        if tw.rank() == 1:
            tw.store(y.multicast()[:, :], tw.all_reduce_load(x.multicast().T[:, :]).to(y.dtype))
            tw.store(n.multicast()[0], tw.all_reduce_load(x.multicast()[2, 3]).to(n.dtype))
        tw.add(n.multicast()[1], 2)
        tw.barrier()

    for dtype in (tw.bf16, tw.f32, tw.i32):
        with tw.init(virtual="2", multimem=True) as comm:
            x, y = comm.window((4, 6), dtype), comm.window((6, 4), dtype)
            n = comm.window((2,), dtype)
            for r in range(2):
                x.at(r)[...] = np.arange(24).reshape(4, 6) + r
                n.at(r)[...] = 0
            transposed[1](x, y, n)
            for r in range(2):
                assert (y.at(r) == (2 * np.arange(24).reshape(4, 6) + 1).T).all()
                assert n.at(r).tolist() == [31, 4]


def test_in_a_world_of_one_a_multicast_view_is_the_window():
    for multimem in (False, True):
        with tw.init(virtual="1", multimem=multimem) as comm:
            x, y, total = filled(comm, 20, tw.bf16)
            two_shot[1](x, y, B=8)
            assert (y.at(0).astype(np.float64) == total).all()
            add_to_all[1](x, y, B=8)
            assert (y.at(0).astype(np.float64) == 2 * total).all()


def test_each_lsa_team_has_its_own_copies():
    @tw.kernel
    def sum_of_team(x: tw.Window["N"], y: tw.Window["N"], *, N: tw.const):
        tw.barrier(team="lsa")
        if tw.rank("lsa") == 0:
            tw.store(y.multicast(team=tw.lsa)[:], tw.all_reduce_load(x.multicast(team=tw.lsa)[:]))
        tw.reduce_store(y[:], tw.full((N,), 100, tw.f32), team="lsa")
        tw.barrier(team="lsa")

    with tw.init(virtual="2x3", multimem=True, seed=4) as comm:
        x, y = comm.window((8,), tw.f32), comm.window((8,), tw.f32)
        for r in range(6):
            x.at(r)[...] = r
            y.at(r)[...] = np.nan
        sum_of_team[1](x, y)
        # 100 of each, but for what came before the store.
        for r in range(6):
            assert y.at(r)[0] % 100 == (3 if r < 3 else 12)


# Which programs take multimem.


@tw.kernel
def load_all(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const, ORDER: tw.const = "any",
             OP: tw.const = "add", TEAM: tw.const = "world"):  # fmt: skip
    total = tw.all_reduce_load(x[:], op=OP, order=ORDER, team=TEAM)
    tw.store(y[:], total.to(y.dtype))


@tw.kernel
def reduce_all(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const, OP: tw.const = "add"):
    tw.reduce_store(x[:], tw.load(y[:]), op=OP)


H100 = "sm_90a:world=8,multimem=1"


@pytest.mark.parametrize(
    ("kernel", "dtype", "target", "constants", "is_multimem"),
    [
        (load_all, "bf16", H100, {}, True),
        (load_all, "i32", H100, {}, True),
        (load_all, "i32", H100, {"OP": "max"}, True),
        (load_all, "f32", "sm_90a:world=2x4,multimem=1", {"TEAM": "lsa"}, True),
        (load_all, "bf16", "cpu:world=8,multimem=1", {}, True),
        (load_all, "bf16", H100, {"ORDER": "rank"}, False),
        (load_all, "bf16", "sm_90a:world=8", {}, False),
        (load_all, "bf16", "sm_90a:world=1,multimem=1", {}, False),
        (load_all, "i16", H100, {}, False),
        (load_all, "bf16", H100, {"OP": "max"}, False),  # NaN wins
        (load_all, "f32", H100, {"OP": "max"}, False),
        (load_all, "e4m3", "sm_100a:world=8,multimem=1", {}, False),  # sums aren't rounded
        (reduce_all, "bf16", H100, {}, True),
        (reduce_all, "u64", H100, {"OP": "min"}, True),
        (reduce_all, "f32", H100, {"OP": "min"}, False),
        (reduce_all, "bf16", "sm_90a:world=8", {}, False),
    ],
)
def test_multimem_is_taken_where_it_is(
    lowered, described_artifact, kernel, dtype, target, constants, is_multimem
):
    arguments = {"x": f"window:{dtype}[64]", "y": f"{dtype}[64]", **constants}
    text = lowered(kernel, target, **arguments)
    assert ("multimem_" in text) == is_multimem
    assert ("peer = true" in text) == (not is_multimem and ":world=1" not in target)
    artifact = described_artifact(kernel, target, **arguments)
    assert artifact.resources.multimem == is_multimem


def test_a_world_without_multimem_refuses_kernels_that_need_it():
    with tw.init(virtual="2", multimem=True) as comm:
        x, y, _ = filled(comm, 16, tw.f32)
        two_shot[1](x, y, B=8)
        artifacts = [each.artifact for each in two_shot.compiled()]
        artifact = next(each for each in artifacts if each.target == comm.target)
        assert comm.target.multimem and artifact.resources.multimem
    with tw.init(virtual="2") as comm:
        x, y, _ = filled(comm, 16, tw.f32)
        with pytest.raises(tw.UserError, match="there is no multimem"):
            two_shot[1](x, y, B=8)
    world = _tilewire.VirtualWorld(2, 2, 0)
    launch = (_tilewire.CpuKernel(artifact), (1, 1, 1), [], 0)
    with pytest.raises(tw.UserError, match="which this world doesn't have"):
        world.launch([launch, launch])


def test_a_multicast_write_waits_for_earlier_launches_of_a_rotating_window():
    """Rank 0 may be two launches ahead, and no further: others may still read their copies."""

    @tw.kernel
    def tell_all(x: tw.Window["N"], y: tw.Tensor["N"], k: tw.i32, *, N: tw.const):
        if tw.rank() == 0:
            tw.store(x.multicast()[:], k.to(tw.f32))
        tw.barrier()
        tw.store(y[:], tw.load(x[:]))

    def main(comm):
        x, y = comm.window((8,), tw.f32, rotate=2), np.zeros(8, np.float32)
        for k in range(6):
            tell_all[1](x, y, k)
            assert (y == k).all(), (comm.rank, k, y)

    for seed in range(40):
        tw.spawn(main, world="3", seed=seed, multimem=True)


def test_a_sum_in_any_order_is_right_whatever_the_dtype():
    @tw.kernel
    def sum_it(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const):
        tw.barrier()
        tw.store(y[:], tw.all_reduce_load(x[:], order="any").to(y.dtype))
        tw.barrier()

    for dtype in (np.int8, np.uint16, np.int32, np.float64, ml_dtypes.bfloat16):
        with tw.init(virtual="3", multimem=True) as comm:
            x = comm.window((16,), np.dtype(dtype))
            for r in range(3):
                x.at(r)[...] = np.arange(16) + r
            y = [np.zeros(16, dtype) for _ in range(3)]
            sum_it[1](x, y)
            assert all((each == 3 * np.arange(16) + 3).all() for each in y)


@pytest.mark.parametrize("order", ["rank", "any"])
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_8_bit_floats_are_summed_in_f32(dtype, order):
    """Not by multimem, which would round the sums to 8 bits."""
    copies = [np.array([1.75, 448, -0.25, 16], np.float32) * k for k in (1, 0.5, 1)]
    copies = [each.astype(dtype) for each in copies]
    with tw.init(virtual="3", multimem=True) as comm:
        x = comm.window((4,), np.dtype(dtype))
        for operation, expected in (("add", np.sum), ("min", np.min), ("max", np.max)):
            for r in range(3):
                x.at(r)[...] = copies[r]
            y = [np.full(4, np.nan, np.float32) for _ in range(3)]
            load_all[1](x, y, ORDER=order, OP=operation)
            wanted = expected([each.astype(np.float32) for each in copies], axis=0)
            assert all((each == wanted).all() for each in y), (operation, y[0], wanted)
