"""Launches: shapes that differ by rank, constants that shapes give, grids, streams."""

import re

import numpy as np
import pytest
import tilewire as tw
from tilewire import _tilewire


@tw.kernel
def gather_shards(
    x: tw.Tensor["R", "H"], all_rows: tw.Window["M", "H"], start: tw.i64, *, H: tw.const
):
    for row in tw.persistent(R):
        for r in tw.ranks():
            tw.store(all_rows.at(r)[start + row, :], tw.load(x[row, :]))
    tw.barrier()


@pytest.mark.parametrize("rows", [(3, 0, 5), (0, 0, 1), (4, 4, 4), (0, 0, 0)])
def test_tensor_shapes_may_differ_by_rank_and_be_empty(rows):
    with tw.init(virtual="3") as comm:
        full = comm.window((12, 8), tw.f32)
        x = [np.full((n, 8), r + 1, np.float32) for r, n in enumerate(rows)]
        starts = [sum(rows[:r]) for r in range(3)]
        gather_shards[2](x, full, starts)
        expected = np.zeros((12, 8), np.float32)
        expected[: sum(rows)] = np.concatenate(x)
        assert all((full.at(r) == expected).all() for r in range(3))


def test_a_constant_must_be_the_same_on_all_ranks():
    with tw.init(virtual="2") as comm:
        full = comm.window((4, 8), tw.f32)
        x = [np.zeros((2, 8), np.float32), np.zeros((2, 4), np.float32)]
        with pytest.raises(tw.UserError) as caught:
            gather_shards[2](x, full, 0)
    assert "H" in str(caught.value) or "extent" in str(caught.value)


def test_a_dimension_is_inferred_checked_and_static(ir):
    @tw.kernel
    def f(x: tw.Tensor["M", "H"], y: tw.Tensor["H"], *, H: tw.const, B: tw.const = 4):
        assert H % B == 0
        tw.store(y[:], tw.sum(tw.load(x[tw.ds(0, B), :]), axis=0))

    x, y = np.ones((6, 8), np.float32), np.full(8, np.nan, np.float32)
    f[1](x, y)
    assert (y == 4).all()
    f[1](x, y, B=2)
    assert (y == 2).all()
    f[1](x, y, H=8)
    with pytest.raises(tw.UserError, match="must have extent 16"):
        f[1](x, y, H=16)
    with pytest.raises(tw.UserError, match="must have extent 8"):
        f[1](x, np.zeros(7, np.float32))
    with pytest.raises(tw.UserError, match="assertion failed"):
        f[1](x, y, B=3)
    text = ir(f, "cpu", x="f32[?, 8]", y="f32[8]", B=4)
    assert "dimension %M" in text and "const H = 8" in text and "dimension %H" not in text


def useful_grid(emitted, kernel, target="sm_90a", **arguments):
    """The dimensions that bound `tw.auto`, by name."""
    text = emitted(kernel, target, "lowered", **arguments)
    head = text.split("{", 1)[0]
    return head.split("grid [", 1)[1].split("]", 1)[0].split(", ") if "grid [" in head else []


def test_auto_is_capped_by_the_extents_that_instances_index(emitted):
    @tw.kernel
    def rows(x: tw.Tensor["T", "H"], y: tw.Window["R"]):
        for i in tw.persistent(T):
            tw.store(x[i, 0], 1.0)
        for i in tw.persistent(R):
            tw.store(y[i], 1.0)

    shapes = {"x": "f32[?, ?]", "y": "window:f32[?]"}
    assert useful_grid(emitted, rows, **shapes) == ["T", "R"]
    # A tensor's extent may differ by rank, the grid must not.
    assert useful_grid(emitted, rows, "sm_90a:world=2", **shapes) == []


@pytest.mark.parametrize("schedule", ["static", "dynamic"])
def test_auto_is_not_capped_where_the_work_is_no_extent(emitted, schedule):
    @tw.kernel
    def f(x: tw.Tensor["T", "H"], y: tw.Tensor["R"], *, schedule: tw.const):
        for i in tw.persistent(R):
            tw.store(y[i], 1.0)
        for t in tw.persistent(tw.tiles(T, H, 4, 4), schedule=schedule):
            tw.store(x[t.m, t.n], 1.0)

    assert useful_grid(emitted, f, x="f32[?, ?]", y="f32[?]", schedule=schedule) == []


def test_a_kernel_that_communicates_with_nobody_takes_no_lane(emitted):
    @tw.kernel
    def alone(x: tw.Window["N"], y: tw.Tensor["N"]):
        for i in tw.persistent(N, schedule="dynamic"):
            tw.store(y[i], tw.load(x.at(0)[i]))

    @tw.kernel
    def together(x: tw.Window["N"], y: tw.Tensor["N"]):
        tw.barrier()
        tw.store(y[0], tw.load(x[0]))

    def text(kernel):
        return emitted(kernel, "sm_90a:world=2", "cuda", x="window:f32[?]", y="f32[?]")

    assert re.search(r"//   needs +a lane", text(together))
    assert not re.search(r"//   needs .*a lane", text(alone))
    assert "counters of the launch" in text(alone) and "all instances resident" not in text(alone)


def test_on_says_the_stream_and_keeps_its_launcher():
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], 1.0)

    assert f.on(stream=None)[1] is f[1]
    assert f.on(stream=64)[1] is f.on(stream=64)[1] is not f[1]
    with pytest.raises(tw.UserError, match="is no CUDA stream"):
        f.on(stream="fast")
    with pytest.raises(tw.UserError, match=r"lane= is a lane, made by comm\.lane"):
        f.on(lane="fast")


def test_on_takes_streams_of_other_libraries():
    class Stream:
        def __cuda_stream__(self):
            return (0, 128)

    class TorchStream:
        cuda_stream = 256

    @tw.kernel
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], 1.0)

    assert f.on(stream=Stream()).stream == 128 and f.on(stream=TorchStream()).stream == 256


def test_auto_is_capped_by_blocks_of_an_extent_and_by_constants(emitted, described_artifact):
    @tw.kernel
    def blocks(x: tw.Tensor["T"], *, B: tw.const, R: tw.const):
        for i in tw.persistent(tw.cdiv(T, B)):
            tw.store(x[tw.ds(i * B, B)], 1.0)
        for i in tw.persistent(R):
            tw.store(x[i], 1.0)

    assert useful_grid(emitted, blocks, x="f32[?]", B=64, R=7) == ["7", "T by 64"]
    artifact = described_artifact(blocks, x="f32[?]", B=64, R=7)
    for extent, grid in ((1, 7), (448, 7), (449, 8), (10**6, 132)):
        assert _tilewire.choose_grid(artifact, [extent], 132) == grid


def test_auto_is_capped_by_the_objects_that_program_ids_index(described_artifact):
    @tw.kernel
    def signals(sem: tw.Semaphore, more: tw.Semaphore, x: tw.Tensor["N"], *, inside: tw.const):
        i = tw.program_id(0)
        tw.signal(sem[1, i + 1])
        for _ in range(N):
            tw.signal(more[i])
        if inside and N > 7:
            tw.signal(sem[i, 0])

    given = {"sem": "semaphore[2, 9]", "more": "semaphore[30]", "x": "f32[?]"}
    for inside in (False, True):
        artifact = described_artifact(signals, inside=inside, **given)
        assert _tilewire.choose_grid(artifact, [1000], 132) == 8
