"""Tasks on CPU worlds: a fiber of their own, in no order with the rest but by flags."""

import numpy as np
import pytest
import tilewire as tw

SEEDS = range(20)


@tw.kernel
def push(
    x: tw.Tensor["N"],
    full: tw.Window["W", "N"],
    ready: tw.Flag["W"],
    y: tw.Tensor["N"],
    *,
    B: tw.const,
    WAITS: tw.const = True,
):
    rank = tw.rank()
    with tw.task():
        for p in tw.peers():
            for b in tw.persistent(tw.cdiv(N, B)):
                block = tw.ds(b * B, B)
                tw.put(full.at(p)[rank, block], x[block])
            tw.set(ready.at(p)[rank])
    for b in tw.persistent(tw.cdiv(N, B)):
        block = tw.ds(b * B, B)
        total = tw.load(x[block])
        for p in tw.peers():
            if WAITS:
                tw.wait(ready[p], tw.num_programs(0))
            total += tw.load(full[p, block])
        tw.store(y[block], total)


def pushed(comm, grid, waits=True, num=100):
    """Whether three launches gave the sums."""
    x = np.zeros(num, np.float32)
    full = comm.window((comm.size, num), tw.f32, rotate=2)
    ready = comm.flag((comm.size,))
    is_right = True
    for step in range(3):
        x[:] = np.arange(num) + 1000 * comm.rank + 7 * step
        y = np.full(num, np.nan, np.float32)
        push[grid](x, full, ready, y, B=32, WAITS=waits)
        expected = sum(np.arange(num) + 1000 * r + 7 * step for r in range(comm.size))
        is_right &= np.array_equal(y, expected.astype(np.float32))
    return is_right


@pytest.mark.parametrize("world", ["1", "2", "3", "8"])
@pytest.mark.parametrize("grid", [1, 3])
def test_is_right(world, grid):
    for seed in SEEDS:
        assert all(tw.spawn(lambda comm: pushed(comm, grid), world=world, seed=seed))


def test_a_forgotten_wait_shows():
    results = [
        tw.spawn(lambda comm: pushed(comm, 2, waits=False), world="2", seed=seed) for seed in SEEDS
    ]
    assert not all(all(each) for each in results)


@tw.kernel
def wait_in_both(a: tw.Flag["N"], b: tw.Flag["N"]):
    with tw.task():
        tw.wait(a[0])
        tw.set(b[0])
    tw.wait(b[0])
    tw.set(a[0])


@tw.kernel
def wait_in_the_task(a: tw.Flag["N"]):
    with tw.task():
        tw.wait(a[0])


def test_a_deadlock_names_the_task():
    with tw.init(virtual="1", seed=1) as comm, pytest.raises(tw.HangError) as caught:
        wait_in_both[2](comm.flag((1,)), comm.flag((1,)))
    message = str(caught.value)
    assert "rank 0, programs 0-1: waits at" in message
    assert "rank 0, tasks of programs 0-1: waits at" in message


def test_the_end_waits_for_the_task():
    with tw.init(virtual="1", seed=1) as comm, pytest.raises(tw.HangError) as caught:
        wait_in_the_task[1](comm.flag((1,)))
    message = str(caught.value)
    assert "rank 0, task of program 0: waits at" in message
    assert (
        "the instance's end, before which its task must have ended for rank 0, task of" in message
    )


@tw.kernel
def copy_some(x: tw.Tensor["N"], y: tw.Tensor["N"], first: tw.i32):
    i = tw.program_id(0)
    if i < first:
        return
    with tw.task():
        tw.put(y[tw.ds(2 * i, 1)], x[tw.ds(2 * i, 1)])
    if i == first + 1:
        return
    with tw.task():
        tw.put(y[tw.ds(2 * i + 1, 1)], x[tw.ds(2 * i + 1, 1)])


@pytest.mark.parametrize("first", [0, 2, 9])
def test_returns_in_front_of_it_end_it(first):
    x, y = np.arange(10, dtype=np.float32) + 1, np.zeros(10, np.float32)
    copy_some[5](x, y, first)
    expected = np.where(np.arange(10) < 2 * first, 0, x)
    if first < 4:
        expected[2 * first + 3] = 0
    assert np.array_equal(y, expected)


@tw.kernel
def copies(x: tw.Tensor["N"], y: tw.Tensor["N"], *, TASK: tw.const):
    if TASK:
        with tw.task():
            tw.put(y[:], x[:])
    tw.store(y[0], 1.0)


def test_who_has_none_is_as_before(described_artifact):
    with_task = described_artifact(copies, "sm_90a", x="f32[?]", y="f32[?]", TASK=True)
    without = described_artifact(copies, "sm_90a", x="f32[?]", y="f32[?]", TASK=False)
    assert with_task.num_threads == without.num_threads + 32
