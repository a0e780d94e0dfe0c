"""`while`, `break` and `continue`: on the CPU, as Python computes."""

import numpy as np
import pytest
import tilewire as tw
from values import VALUES, poisoned, run


@tw.kernel
def collatz(x: tw.Tensor["N"], out: tw.Tensor["N"]):
    for i in range(N):
        n = tw.load(x[i])
        steps = 0
        while n > 1:
            if n % 2 == 0:  # noqa: SIM108
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        tw.store(out[i], steps)


def test_while():
    def steps(n):
        count = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    x = np.arange(1, 30)
    (out,) = run(collatz, poisoned(29), x=x)
    assert out.tolist() == [steps(n) for n in x]


@tw.kernel
def while_carries_tiles(x: tw.Tensor["N"], out: tw.Tensor[4]):
    acc = tw.zeros((4,), tw.i64)
    i = 0
    while i < N and tw.sum(acc) < 12:
        acc += tw.load(x[tw.ds(i, 4)])
        i += 2
    tw.store(out[:], acc + i)


def test_while_carries_tiles_and_short_circuits():
    acc, i = np.zeros(4, np.int64), 0
    while i < len(VALUES) and acc.sum() < 12:
        acc += np.pad(VALUES, (0, 4))[i : i + 4]
        i += 2
    (out,) = run(while_carries_tiles, poisoned(4))
    assert out.tolist() == (acc + i).tolist()


@tw.kernel
def first_negative(x: tw.Tensor["N"], out: tw.Tensor[2]):
    found = -1
    looked = 0
    for i in range(N):
        value = tw.load(x[i])
        looked += 1
        if value < 0:
            found = i
            break
        looked += 10
    tw.store(out[0], found)
    tw.store(out[1], looked)


@pytest.mark.parametrize("x", [VALUES, np.abs(VALUES), VALUES[1:2], VALUES[:0]])
def test_break(x):
    found, looked = -1, 0
    for i, value in enumerate(x):
        looked += 1
        if value < 0:
            found = i
            break
        looked += 10
    (out,) = run(first_negative, poisoned(2), x=x)
    assert out.tolist() == [found, looked]


@tw.kernel
def sum_of_some(x: tw.Tensor["N"], out: tw.Tensor[2]):
    total = 0
    seen = 0
    for i in range(N):
        value = tw.load(x[i])
        if value > 3:
            if value > 6:
                break
            total += 100
        elif value < 0:
            seen += 1000
            continue
        seen += 1
        total += value
    tw.store(out[0], total)
    tw.store(out[1], seen)


def test_break_and_continue_in_nested_branches():
    total = seen = 0
    for value in VALUES:
        if value > 3:
            if value > 6:
                break
            total += 100
        elif value < 0:
            seen += 1000
            continue
        seen += 1
        total += value
    (out,) = run(sum_of_some, poisoned(2))
    assert out.tolist() == [total, seen]


@tw.kernel
def forever(x: tw.Tensor["N"], out: tw.Tensor[1]):
    i = 0
    while True:
        if i == N:
            break
        if tw.load(x[i]) == 9:
            break
        i += 1
    tw.store(out[0], i)


def test_while_true_with_breaks():
    assert run(forever, poisoned()) == [5]
    assert run(forever, poisoned(), x=VALUES[:3]) == [3]


@tw.kernel
def breaks_in_unrolled_loops(x: tw.Tensor["N"], out: tw.Tensor[3], *, K: tw.const):
    constant = 0
    for i in tw.unroll(8):
        if i == K:
            break
        constant += 1
    total = 0
    for i in tw.unroll(8):
        value = tw.load(x[i])
        if value < 0:
            continue
        if value > 6:
            break
        total += value
    over = 0
    for i in tw.persistent(N):
        if tw.load(x[i]) == 4:
            break
        over += 1
    tw.store(out[0], constant)
    tw.store(out[1], total)
    tw.store(out[2], over)


def test_breaks_in_unrolled_and_persistent_loops():
    (out,) = run(breaks_in_unrolled_loops, poisoned(3), K=5)
    assert out.tolist() == [5, 3 + 4 + 1, 2]


def test_a_loop_inside_keeps_the_break_of_the_loop_around_it():
    @tw.kernel
    def f(out: tw.Tensor[4], limit: tw.i32):
        total, rounds, steps = 0, 0, 0
        while rounds < 10:
            rounds += 1
            if rounds == limit:
                break
            for _ in range(5, 0, -1):
                steps += 1
                if steps % 3 == 0:
                    break
            for _ in tw.unroll(2):
                total += 1
        for i in range(10):
            for j in range(10):
                if j == i:
                    break
                total += 100
            if i == limit:
                break
        for i, value in enumerate((total, rounds, steps)):
            tw.store(out[i], value)

    out = np.full(4, -7, np.int32)
    f[1](out, 3)
    rounds, steps = 2, 0
    for _ in range(rounds):
        for _ in range(5, 0, -1):
            steps += 1
            if steps % 3 == 0:
                break
    assert out.tolist() == [2 * rounds + 100 * (0 + 1 + 2 + 3), 3, steps, -7]


@tw.kernel
def nested_continues(x: tw.Tensor["N"], out: tw.Tensor["N"]):
    for i in range(N):
        value = tw.load(x[i])
        total = 0
        if value > 2:
            total += 1
            if value > 5:
                continue
        for j in range(N):
            if j > 1:
                if j == N - 1:
                    continue
                total += 10
            total += 100
        if value < 0:
            total += 1000
            if value < -4:
                continue
        tw.store(out[i], total)


def test_continue_in_loops_inside_each_other():
    expected = []
    for value in VALUES:
        total, stored = 0, -77
        if value > 2:
            total += 1
        if value <= 5:
            for j in range(8):
                if j > 1:
                    if j == 7:
                        continue
                    total += 10
                total += 100
            if value < 0:
                total += 1000
            if value >= -4:
                stored = total
        expected.append(stored)
    (out,) = run(nested_continues, poisoned(8))
    assert out.tolist() == expected


@tw.kernel
def swaps_tiles(x: tw.Tensor["N"], out: tw.Tensor[2, 8], times: tw.i32):
    a, b = tw.load(x[tw.ds(0, 8)]), tw.zeros((8,), tw.i64)
    i = 0
    while True:
        if i == times:
            break
        last = tw.flip(a)
        if i % 3 == 2:
            i += 1
            b += 100
            continue
        a, b = b + 1, last
        i += 1
    tw.store(out[0, :], a)
    tw.store(out[1, :], b)


@pytest.mark.parametrize("times", [0, 1, 2, 7])
def test_tiles_swapped_in_a_while(times):
    out = poisoned((2, 8))
    swaps_tiles[1](VALUES, out, times)
    a, b = VALUES, np.zeros(8, np.int64)
    for i in range(times):
        a, b = (a, b + 100) if i % 3 == 2 else (b + 1, a[::-1])
    assert out.tolist() == [a.tolist(), b.tolist()]
