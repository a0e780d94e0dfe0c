"""`while`, `break`, `continue`, `return`, branches with results: on the CPU, as Python computes."""

import itertools

import numpy as np
import pytest
import tilewire as tw

VALUES = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int64)


def run(kernel, *outputs, x=VALUES, **constants):
    """Launches one instance on `x` and the outputs, which were poisoned."""
    kernel[1](x, *outputs, **constants)
    return [each.copy() for each in outputs]


def poisoned(n=1, dtype=np.int64):
    return np.full(n, -77, dtype)


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


@tw.kernel
def returns_early(x: tw.Tensor["N"], out: tw.Tensor[3]):
    tw.store(out[0], 1)
    for i in range(N):
        value = tw.load(x[i])
        if value < 0:
            kept = value
        elif value == 9:
            return
        else:
            kept = -value
        tw.store(out[1], kept)
    tw.store(out[2], N)


def test_return_in_a_loop():
    (out,) = run(returns_early, poisoned(3))
    assert out.tolist() == [1, -5, -77]
    (out,) = run(returns_early, poisoned(3), x=VALUES[:3])
    assert out.tolist() == [1, -4, 3]


@tw.kernel
def returns_from_a_branch(x: tw.Tensor["N"], out: tw.Tensor[4]):
    if N < 4:
        return
    else:
        tile = tw.load(x[tw.ds(0, 4)])
        name = 3
    if tw.sum(tile) == 0:
        tile = tile + 1
    else:
        if N > 100:
            return
    tw.store(out[:], tile + tw.load(x[4]) + name)


def test_names_live_behind_a_return():
    (out,) = run(returns_from_a_branch, poisoned(4), x=VALUES[:2])
    assert (out == -77).all()
    (out,) = run(returns_from_a_branch, poisoned(4))
    assert out.tolist() == (VALUES[:4] + VALUES[4] + 3).tolist()
    (out,) = run(returns_from_a_branch, poisoned(4), x=np.ones(101, np.int64))
    assert (out == -77).all()


@tw.kernel
def chooses(x: tw.Tensor["N"], tiles: tw.Tensor["N", 4], out: tw.Tensor["N"]):
    for i in range(N):
        value = tw.load(x[i])
        if value > 3:
            tile, factor = tw.full((4,), value, tw.i64), 2
        elif value > 0:
            tile, factor = tw.arange(4).to(tw.i64), 3
        else:
            tile, factor = tw.zeros((4,), tw.i64), value
        tw.store(tiles[i, :], tile * factor)
        near = value if value > 0 else -value
        far = tw.load(x[N - 1 - i]) if value > 2 else near
        last = 1 if 0 < value <= 3 < far else 0
        tw.store(out[i], near + far * 10 + last * 1000)


def test_branches_with_results():
    tiles, out = poisoned((8, 4)), poisoned(8)
    run(chooses, tiles, out)
    expected, rows = [], []
    for i, value in enumerate(VALUES):
        if value > 3:
            rows.append([2 * value] * 4)
        elif value > 0:
            rows.append([0, 3, 6, 9])
        else:
            rows.append([0] * 4)
        near = value if value > 0 else -value
        far = VALUES[7 - i] if value > 2 else near
        expected.append(near + far * 10 + (1000 if 0 < value <= 3 < far else 0))
    assert tiles.tolist() == rows
    assert out.tolist() == expected


@tw.kernel
def conditional_tiles(x: tw.Tensor[8], flag: tw.i32, out: tw.Tensor[8]):
    tile = tw.load(x[:]) * 2 if flag > 0 else tw.zeros((8,), tw.i64)
    swapped, tile = tile, tile + 1
    (a, (b, c)) = (swapped, (tile, flag))
    a, b = b, a
    tw.store(out[:], a * 100 + b + c)


def test_conditional_tiles_and_swaps():
    for flag in (0, 5):
        out = poisoned(8)
        conditional_tiles[1](VALUES, flag, out)
        tile = VALUES * 2 if flag > 0 else np.zeros(8, np.int64)
        assert out.tolist() == ((tile + 1) * 100 + tile + flag).tolist()


@tw.kernel
def logic(x: tw.Tensor["N"], out: tw.Tensor["N"]):
    for i in range(N):
        value = tw.load(x[i])
        both = value > 0 and not (value == 4 or value == 5)
        either = value < 0 or (i + 1 < N and tw.load(x[i + 1]) < 0)
        tw.store(out[i], 1 if both else (2 if either else 3))


def test_and_or_not():
    (out,) = run(logic, poisoned(8))
    after = [*VALUES[1:], 1]
    assert out.tolist() == [
        1 if v > 0 and v not in (4, 5) else 2 if v < 0 or n < 0 else 3
        for v, n in zip(VALUES, after, strict=True)
    ]


def test_and_computes_what_it_calls_only_if_needed(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        if N > 3 and tw.load(x[3]) > 0:
            tw.store(x[0], 1)

    lines = [line.strip() for line in ir(f, "cpu", x="i64[?]").splitlines()]
    condition = next(i for i, line in enumerate(lines) if line.startswith("%chosen = if"))
    assert any("load(" in line for line in lines[condition:])
    assert not any("load(" in line for line in lines[:condition])


@tw.kernel
def ranges(bounds: tw.Tensor[3], out: tw.Tensor[6]):
    start, stop, step = tw.load(bounds[0]), tw.load(bounds[1]), tw.load(bounds[2])
    known = 0
    for i in range(10, -3, -4):
        known = known * 100 + i
    down = 0
    for i in range(start, stop, -2):
        down = down * 10 + i
    any_way = 0
    for i in range(start, stop, step):
        any_way = any_way * 10 + i
    stopped = 0
    for i in range(9, 0, -2):
        if i < 4:
            break
        stopped = stopped * 10 + i
    tw.store(out[0], known)
    tw.store(out[1], down)
    tw.store(out[2], any_way)
    tw.store(out[3], stopped)
    tw.store(out[4], stop)
    until = 0
    for i in range(start, stop, step):
        if i == 4:
            break
        until = until * 10 + i
    tw.store(out[5], until)


def folded_up(numbers, base=10):
    total = 0
    for i in numbers:
        total = total * base + i
    return total


@pytest.mark.parametrize("bounds", [(7, 1, -3), (1, 8, 2), (5, 5, 1), (3, 9, -1), (8, 0, -1)])
def test_ranges_that_count_down(bounds):
    out = poisoned(6)
    ranges[1](np.array(bounds, np.int64), out)
    start, stop, step = bounds
    assert out.tolist() == [
        folded_up(range(10, -3, -4), 100),
        folded_up(range(start, stop, -2)),
        folded_up(range(*bounds)),
        folded_up(x for x in range(9, 0, -2) if x >= 4),
        stop,
        folded_up(itertools.takewhile(lambda i: i != 4, range(*bounds))),
    ]


def test_a_step_of_zero_at_run_time_does_nothing():
    out = poisoned(6)
    ranges[1](np.array([3, 9, 0], np.int64), out)
    assert out[2] == 0 and out[5] == 0


@tw.kernel
def exits_in_a_world(x: tw.Window["N"], out: tw.Tensor["N"]):
    if N > 100:
        return
    tw.barrier()
    i = 0
    while i < N:
        total = 0
        for r in tw.ranks():
            value = tw.load(x.at(r)[i])
            if value < 0:
                continue
            total += value
        tw.store(out[i], total)
        i += 1
    tw.barrier()


def test_loops_and_returns_among_ranks():
    with tw.init(virtual="3") as comm:
        x = comm.window((8,), tw.i64)
        for r in range(3):
            x.at(r)[...] = VALUES * (1 - r)
        outputs = [poisoned(8) for _ in range(3)]
        exits_in_a_world[1](x, outputs)
    expected = sum(np.maximum(VALUES * (1 - r), 0) for r in range(3))
    assert all(out.tolist() == expected.tolist() for out in outputs)


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
