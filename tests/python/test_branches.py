"""Branches with results, `return`, and what is computed only if needed: on the CPU, as Python
computes."""

import numpy as np
import tilewire as tw
from values import VALUES, poisoned, run


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
