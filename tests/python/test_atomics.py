"""Atomics on the CPU target, and the instructions that NVRTC makes of them."""

import numpy as np
import pytest
import tilewire as tw

DTYPES = [tw.i32, tw.u32, tw.i64, tw.u64, tw.f32, tw.f64, tw.f16, tw.bf16]


def numpy_dtype(dtype):
    from tilewire.types import to_numpy_dtype

    return to_numpy_dtype(dtype)


@tw.kernel
def count(total: tw.Tensor["N"], tickets: tw.Tensor["P"], *, N: tw.const):
    tw.atomic_add(total[:], 1)
    ticket = tw.atomic_add(total[0], 1, order="relaxed")
    tw.store(tickets[tw.program_id(0)], ticket)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_many_instances_lose_no_count(dtype):
    total = np.zeros(5, numpy_dtype(dtype))
    tickets = np.full(100, 77, numpy_dtype(dtype))
    count[100](total, tickets)
    assert (total[1:] == 100).all() and total[0] == 200
    assert len(set(tickets.astype(np.float64))) == 100


@tw.kernel
def extremes(x: tw.Tensor["T", "H"], low: tw.Tensor["H"], high: tw.Tensor["H"], *, H: tw.const):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.atomic_min(low[:], tile)
        tw.atomic_max(high[:], tile)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extremes(dtype):
    x = np.random.default_rng(1).integers(0, 200, (50, 7)).astype(numpy_dtype(dtype))
    low, high = np.full_like(x[0], 150), np.full_like(x[0], 20)
    extremes[50](x, low, high)
    assert (low == np.minimum(x.min(0), 150)).all() and (high == np.maximum(x.max(0), 20)).all()


def test_nan_wins():
    low = np.zeros(2, np.float32)
    extremes[1](np.float32([[np.nan, 1]]), low, low.copy())
    assert np.isnan(low[0]) and low[1] == 0


@tw.kernel
def locked(lock: tw.Tensor["N"], log: tw.Tensor["P"], *, N: tw.const):
    mine = tw.atomic_cas(lock[0], 0, tw.program_id(0) + 1)
    if mine == 0:
        tw.store(log[0], tw.atomic_exchange(lock[0], -1))
    tw.atomic_add(log[1], 1, where=mine != 0)


def test_compare_and_swap():
    lock, log = np.zeros(1, np.int64), np.full(2, 0, np.int64)
    locked[20](lock, log)
    assert lock[0] == -1 and 1 <= log[0] <= 20 and log[1] == 19


@tw.kernel
def masked(x: tw.Tensor["N"], old: tw.Tensor["M"], *, M: tw.const):
    tw.store(old[:], tw.atomic_exchange(x[tw.ds(2, M)], 9, where=tw.arange(M) != 1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masks_and_edges(dtype):
    x = np.arange(1, 6).astype(numpy_dtype(dtype))
    old = np.full(4, 77, x.dtype)
    masked[1](x, old)
    assert x.tolist() == [1, 2, 9, 4, 9] and old.tolist() == [3, 0, 5, 0]


@tw.kernel
def histogram(x: tw.Tensor["N"], bins: tw.Tensor["B"], *, N: tw.const):
    tw.atomic_add(bins[tw.load(x[:])], 1, order="relaxed")


def test_scatter_counts_equal_indices():
    x = np.random.default_rng(2).integers(-1, 9, 300).astype(np.int32)
    bins = np.zeros(8, np.int32)
    histogram[1](x, bins)
    assert (bins == [(x == i).sum() for i in range(8)]).all()


@tw.kernel
def add_at_peers(x: tw.Window["N"], *, N: tw.const):
    for r in tw.ranks():
        tw.atomic_add(x.at(r)[:], tw.rank() + 1)


def test_at_a_peer():
    with tw.init(virtual="4") as comm:
        x = comm.window((6,), tw.i32)
        for r in range(comm.size):
            x.at(r)[...] = 100
        add_at_peers[3](x)
        assert all((x.at(r) == 100 + 3 * 10).all() for r in range(comm.size))


X = {"total": "{}[7]", "tickets": "{}[?]"}


@pytest.mark.parametrize(
    ("target", "dtype", "instructions"),
    [
        ("sm_90a", "f32", ["red.relaxed.gpu.global.add.f32", "atom.relaxed.gpu.global.add.f32"]),
        ("sm_90a", "bf16", ["red.relaxed.gpu.global.add.noftz.bf16"]),
        ("sm_80", "bf16", ["atom.relaxed.gpu.global.cas.b16"]),
        ("sm_80", "f16", ["red.relaxed.gpu.global.add.noftz.f16"]),
        ("sm_120", "f64", ["red.relaxed.gpu.global.add.f64"]),
        ("sm_100a", "u64", ["red.relaxed.gpu.global.add.u64"]),
    ],
)
def test_instructions(target, dtype, instructions, emitted):
    ptx = emitted(count, target, "ptx", **{k: v.format(dtype) for k, v in X.items()})
    assert all(each in ptx for each in instructions)
    assert ptx.index("fence.acq_rel.gpu") < ptx.index(instructions[0])


def test_peers_are_reached_at_system_scope(emitted):
    ptx = emitted(add_at_peers, "sm_90a:world=2", "ptx", x="window:i32[8]")
    assert "red.relaxed.sys.global.add.u32" in ptx and "fence.acq_rel.sys" in ptx


def test_refused(diagnose):
    def narrow(x: tw.Tensor["N"]):
        tw.atomic_add(x[0], 1)  # error

    def order(x: tw.Tensor["N"]):
        tw.atomic_add(x[0], 1, order="seq_cst")  # error

    def scope(x: tw.Window["N"]):
        tw.atomic_add(x.at(0)[0], 1, scope="gpu")  # error

    def whole(x: tw.Tensor["N"]):
        tw.atomic_add(x[:], 1)  # error

    assert "works on i32, u32, i64, u64, f16, bf16, f32 and f64" in diagnose(narrow, x="i8[?]")[0]
    assert "'seq_cst'" in diagnose(order, x="i32[?]")[0]
    assert 'it needs scope="system"' in diagnose(scope, "cpu:world=2", x="window:i32[?]")[0]
    assert "known only at run time" in diagnose(whole, x="i32[?]")[0]
