"""Puts, additions into peers and sums over ranks, on worlds of the CPU target."""

import numpy as np
import pytest
import tilewire as tw
from tilewire import _tilewire
from tilewire.frontend.build import build_program
from tilewire.frontend.signature import ArrayArgument

WORLDS = ["1", "2", "3", "8"]


@pytest.mark.parametrize("world", WORLDS)
def test_all_gather_by_puts_of_views_of_any_length(world):
    @tw.kernel
    def all_gather(x: tw.Tensor["N"], w: tw.Window["W", "M"]):
        """Shards of different lengths, by all instances: each takes a part of the shard."""
        i = tw.program_id(0)
        n = tw.num_programs(0)
        part = tw.cdiv(N, n)
        for r in tw.ranks():
            tw.put(w.at(r)[tw.rank(), i * part : (i + 1) * part], x[i * part : (i + 1) * part])
        tw.barrier()

    for seed in range(5):
        with tw.init(virtual=world, seed=seed) as comm:
            w = comm.window((comm.size, 50), tw.f32)
            for r in range(comm.size):
                w.at(r)[...] = np.nan
            x = [np.arange(40 + r, dtype=np.float32) + 100 * r for r in range(comm.size)]
            all_gather[3](x, w)
            for r in range(comm.size):
                for source in range(comm.size):
                    np.testing.assert_array_equal(w.at(r)[source, : 40 + source], x[source])
                    assert np.isnan(w.at(r)[source, 40 + source :]).all()


def test_strides_permutations_and_clipped_corners():
    @tw.kernel
    def corners(x: tw.Tensor["A", "B", "C"], y: tw.Tensor["C", "B", "A"], z: tw.Tensor["C"]):
        tw.put(y.T, x)
        tw.put(z[2:100], x[0, 0, 3:101])

    @tw.kernel
    def tiles_at_edges(x: tw.Tensor["N"], y: tw.Tensor["N"], *, B: tw.const = 8):
        for b in range(tw.cdiv(N, B) + 2):
            tw.put(y[tw.ds(b * B - 3, B)], x[tw.ds(b * B - 3, B)])

    x = np.arange(5 * 4 * 7, dtype=np.int16).reshape(5, 4, 7)
    y = np.full((7, 4, 5), -1, np.int16)
    z = np.full(7, -1, np.int16)
    corners[1](x, y, z)
    np.testing.assert_array_equal(y, x.T)
    np.testing.assert_array_equal(z, [-1, -1, 3, 4, 5, 6, -1])
    for transposed in (x.transpose(2, 0, 1), x[:, ::2, 1::3]):
        y = np.full(transposed.shape[::-1], -1, np.int16)
        corners[1](transposed, y, np.zeros(transposed.shape[2], np.int16))
        np.testing.assert_array_equal(y, transposed.T)
    for size in (1, 7, 8, 30):
        source, target = np.arange(size, dtype=np.int16), np.full(size, -1, np.int16)
        tiles_at_edges[1](source, target)
        np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("world", WORLDS)
def test_a_chain_of_puts_is_in_program_order(world):
    @tw.kernel
    def chain(a: tw.Window["N"], b: tw.Window["N"], c: tw.Tensor["N"]):
        tw.put(b[:], a)
        tw.put(a[:], b)
        tw.put(b[0 : N // 2], a[N // 2 : N])
        tw.put(c[:], b)

    with tw.init(virtual=world) as comm:
        a, b = comm.window((64,), tw.f64), comm.window((64,), tw.f64)
        c = [np.zeros(64) for _ in range(comm.size)]
        for r in range(comm.size):
            a.at(r)[...] = np.arange(64) + r
        chain[1](a, b, c)
        for r in range(comm.size):
            half = np.arange(32, 64) + r
            np.testing.assert_array_equal(c[r], np.concatenate([half, half]))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("dtype", [tw.f32, tw.bf16, tw.f16, tw.f64, tw.i32, tw.u64])
def test_sums_over_all_ranks(world, dtype):
    @tw.kernel
    def both(x: tw.Window["T", "H"], y: tw.Window["T", "H"], z: tw.Tensor["T", "H"], *,
             H: tw.const):  # fmt: skip
        for row in tw.persistent(T):
            tw.reduce_store(y[row, :], tw.load(x[row, :]))
        tw.barrier()
        for row in tw.persistent(T):
            tw.store(z[row, :], tw.all_reduce_load(y[row, :]))
        tw.barrier()

    for seed in range(3):
        with tw.init(virtual=world, seed=seed) as comm:
            x, y = comm.window((4, 20), dtype), comm.window((4, 20), dtype)
            numpy_dtype = x.at(0).dtype
            for r in range(comm.size):
                x.at(r)[...] = (np.arange(80).reshape(4, 20) % 5 + r).astype(numpy_dtype)
            z = [np.zeros((4, 20), numpy_dtype) for _ in range(comm.size)]
            both[3](x, y, z)
            total = sum(x.at(r).astype(np.float64) for r in range(comm.size))
            for r in range(comm.size):
                np.testing.assert_array_equal(y.at(r).astype(np.float64), total)
                expected = (total * comm.size).astype(numpy_dtype)
                np.testing.assert_array_equal(z[r], expected)


def test_teams_of_a_world():
    @tw.kernel
    def sum_of_team(x: tw.Window["N"], y: tw.Window["N"], *, N: tw.const):
        tw.reduce_store(y[:], tw.all_reduce_load(x[:], team="lsa"), team="lsa")
        tw.barrier(team="lsa")

    with tw.init(virtual="2x3") as comm:
        x, y = comm.window((8,), tw.i32), comm.window((8,), tw.i32)
        for r in range(6):
            x.at(r)[...] = r
        sum_of_team[1](x, y)
        assert [y.at(r)[0] for r in range(6)] == [3 * 3] * 3 + [3 * 12] * 3


def test_all_ranks_get_the_same_bits():
    @tw.kernel
    def sum_it(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const):
        tw.barrier()
        tw.store(y[:], tw.all_reduce_load(x[:]))

    with tw.init(virtual="8") as comm:
        x = comm.window((256,), tw.f32)
        for r in range(8):
            x.at(r)[...] = np.random.default_rng(r).standard_normal(256)
        y = [np.zeros(256, np.float32) for _ in range(8)]
        sum_it[1](x, y)
        expected = x.at(0).copy()
        for r in range(1, 8):
            expected = expected + x.at(r)
        assert all((each == expected).all() for each in y)


Row = tw.record(scale=tw.f32, q=tw.i8[4])


def test_records_are_put_whole():
    @tw.kernel
    def move(x: tw.Window["N"], y: tw.Window["N"]):
        other = y.at((tw.rank() + 1) % tw.world_size())
        tw.put(other[0:1], x[0:1])
        tw.put(other[1], tw.load(x[1]))
        tw.barrier()

    with tw.init(virtual="2") as comm:
        x, y = comm.window((2,), Row), comm.window((2,), Row)
        for r in range(2):
            x.at(r)["scale"] = [r + 1, r + 2]
            x.at(r)["q"] = np.arange(8).reshape(2, 4) + 10 * r
        move[1](x, y)
        for r in range(2):
            np.testing.assert_array_equal(y.at(r)["scale"], x.at(1 - r)["scale"])
            np.testing.assert_array_equal(y.at(r)["q"], x.at(1 - r)["q"])


@pytest.mark.parametrize("world", WORLDS)
def test_a_put_that_signals_is_seen_by_who_waits(world):
    @tw.kernel
    def pass_on(x: tw.Tensor["N"], w: tw.Window["N"], last: tw.Window[1], y: tw.Tensor["N"],
                sem: tw.Semaphore[2]):  # fmt: skip
        next_rank = (tw.rank() + 1) % tw.world_size()
        tw.put(w.at(next_rank)[:], x, signal=sem.at(next_rank)[0])
        tw.put_value(last.at(next_rank)[0], tw.load(x[N - 1]), signal=sem.at(next_rank)[1], n=2)
        tw.wait(sem[0])
        tw.wait(sem[1], 2)
        tw.put(y[0 : N - 1], w[0 : N - 1])
        tw.store(y[N - 1], tw.load(last[0]) + 1000)

    for seed in range(10):
        with tw.init(virtual=world, seed=seed) as comm:
            w, last = comm.window((9,), tw.i32), comm.window((1,), tw.i32)
            sem = comm.semaphore(2)
            x = [np.arange(9, dtype=np.int32) + 10 * r for r in range(comm.size)]
            y = [np.zeros(9, np.int32) for _ in x]
            pass_on[1](x, w, last, y, sem)
            for r in range(comm.size):
                expected = x[(r - 1) % comm.size].copy()
                expected[-1] += 1000
                np.testing.assert_array_equal(y[r], expected)


def lowered(kernel, target="sm_90a:world=2", **shapes):
    arrays = {
        p.name: ArrayArgument(
            p.annotation.kind, tw.f32 if p.name != "sem" else tw.u64, shapes[p.name]
        )
        for p in kernel.signature.positional
    }
    specialisation = kernel.specialise(arrays)
    program = build_program(
        kernel.function, kernel.source, kernel.signature, specialisation, tw.Target(target)
    )
    return _tilewire.emit_stage(program, tw.Target(target), "lowered").decode()


def steps(text):
    """The ops that say when bulk copies are over, in order."""
    names = ("view_copy", "drain_copies", "lsa_barrier", "grid_barrier", "tile_load", "tile_store")
    words = (line.split("(")[0].split("=")[-1].strip() for line in text.splitlines())
    return [word for word in words if word in names]


def test_bulk_copies_are_over_before_what_needs_them():
    @tw.kernel
    def release(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.put(w.at(1 - tw.rank())[:], x)
        tw.put(w[:], x)
        tw.barrier()
        tw.barrier()

    @tw.kernel
    def acquire_only(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.put(w.at(1 - tw.rank())[:], x)
        tw.barrier(order="acquire")

    @tw.kernel
    def read_back(x: tw.Tensor["N"], w: tw.Window["N"], y: tw.Tensor["A", "B"]):
        tw.put(w[:], x)
        tw.store(y[0, 0], 1.0)
        tw.store(y[0, 1], tw.load(w[0]))

    @tw.kernel
    def in_a_loop(x: tw.Tensor["N"], w: tw.Window["N"]):
        for _ in range(3):
            tw.barrier()
            tw.put(w[:], x)

    @tw.kernel
    def wait_and_signal(x: tw.Tensor["N"], w: tw.Window["N"], sem: tw.Semaphore):
        tw.put(w.at(1 - tw.rank())[:], x)
        tw.wait(sem[0])
        tw.signal(sem.at(1 - tw.rank())[0])

    @tw.kernel
    def too_small(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.put(w[0:100], x[0:100])
        tw.put(w[tw.ds(0, 1024)], x[tw.ds(0, 1024)])
        tw.barrier()

    one = {"x": (1 << 20,), "w": (1 << 20,)}
    assert steps(lowered(release, **one)) == [
        "view_copy", "view_copy", "drain_copies", "lsa_barrier", "lsa_barrier",
    ]  # fmt: skip
    assert steps(lowered(acquire_only, **one)) == ["view_copy", "lsa_barrier"]
    assert steps(lowered(read_back, **one, y=(8, 8))) == [
        "view_copy", "tile_store", "drain_copies", "tile_load", "tile_store",
    ]  # fmt: skip
    assert steps(lowered(wait_and_signal, **one, sem=(4,))) == ["view_copy", "drain_copies"]
    assert steps(lowered(in_a_loop, **one)) == ["drain_copies", "lsa_barrier", "view_copy"]
    small = lowered(too_small, **one)
    assert "bulk" not in small and "drain_copies" not in steps(small)
    cuda = steps(lowered(release, target="sm_90a:world=1", **one))
    assert cuda == ["view_copy", "view_copy"]


def error(body, **arrays):
    with tw.init(virtual="2") as comm:
        given = {
            name: comm.window(shape, tw.f32) if name == "w" else np.zeros(shape, np.float32)
            for name, shape in arrays.items()
        }
        with pytest.raises(tw.UserError) as caught:
            body[1](**given)
    return str(caught.value)


def test_what_is_put_where_it_does_not_fit_is_refused():
    @tw.kernel
    def other_rank(x: tw.Tensor["A", "B"], w: tw.Window["N"]):
        tw.put(w, x)

    @tw.kernel
    def no_place(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.put(3, x)

    @tw.kernel
    def run_time_tile(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.put(w[:], 1.0)

    @tw.kernel
    def several_values(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.put_value(w[tw.ds(0, 4)], 1.0)

    @tw.kernel
    def to_a_constant(x: tw.constant(tw.Tensor["N"]), w: tw.Window["N"]):
        tw.put(x[:], w)

    @tw.kernel
    def of_no_window(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.store(w[tw.ds(0, 4)], tw.all_reduce_load(x[tw.ds(0, 4)]))

    @tw.kernel
    def at_one_rank(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.reduce_store(w.at(1)[tw.ds(0, 4)], 1.0)

    @tw.kernel
    def in_rank_order(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.reduce_store(w[tw.ds(0, 4)], 1.0, order="rank")

    @tw.kernel
    def by_index(x: tw.Tensor["N"], w: tw.Window["N"]):
        tw.put(w[tw.arange(4)], x[tw.arange(4)])

    arrays = {"x": (8,), "w": (8,)}
    assert "both have one dtype and one shape" in error(other_rank, x=(2, 4), w=(8,))
    assert "takes a view, found" in error(no_place, **arrays)
    assert "is known only at run time, a tile's shape is static" in error(run_time_tile, **arrays)
    assert "puts one element" in error(several_values, **arrays)
    assert "is annotated tw.constant" in error(to_a_constant, **arrays)
    assert "takes a window or a part of one" in error(of_no_window, **arrays)
    assert "leave .at(…) out" in error(at_one_rank, **arrays)
    assert "order" in error(in_rank_order, **arrays)
    assert "takes no index tiles" in error(by_index, **arrays)


def test_sums_over_ranks_out_of_reach_are_refused():
    @tw.kernel
    def of_the_world(w: tw.Window["N"], *, N: tw.const):
        tw.reduce_store(w[:], 1.0)

    with tw.init(virtual="2x2") as comm:
        w = comm.window((4,), tw.f32)
        with pytest.raises(tw.UserError, match=r'supported is team="lsa"'):
            of_the_world[1](w)
