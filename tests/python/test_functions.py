"""`@tw.function`: arguments, early returns, closures; and Python's own functions on constants."""

import math
from dataclasses import dataclass

import numpy as np
import tilewire as tw

SCALE = 3
TABLE = [5, 7, 11]


@tw.function
def scaled(x, factor=2, *, offset=0):
    return x * factor + offset


@tw.function
def both(x):
    """Two values."""
    return tw.sum(x), tw.max(x)


@tw.function
def clipped(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@tw.function
def nested(x):
    a, b = both(x)
    return scaled(a, offset=b)


@tw.function
def stores(view, value):
    if value < 0:
        return
    tw.store(view, value)


def next_power_of_two(n):
    return 1 << (n - 1).bit_length()


double = lambda n: 2 * n  # noqa: E731


@tw.kernel
def calls(x: tw.Tensor[8], out: tw.Tensor["N"]):
    tile = tw.load(x[:])
    total, peak = both(tile)
    tw.store(out[0], total)
    tw.store(out[1], peak)
    tw.store(out[2], scaled(total))
    tw.store(out[3], scaled(total, SCALE, offset=1))
    tw.store(out[4], scaled(x=total, offset=TABLE[-1], factor=len(TABLE)))
    tw.store(out[5], nested(tile))
    for i in range(8):
        stores(out[6 + i], clipped(tw.load(x[i]), -1, 4))


def test_arguments_and_early_returns():
    x = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int64)
    out = np.full(14, -77, np.int64)
    calls[1](x, out)
    total, peak = x.sum(), x.max()
    clips = np.clip(x, -1, 4)
    assert out.tolist() == [
        total,
        peak,
        2 * total,
        3 * total + 1,
        3 * total + 11,
        2 * total + peak,
        *np.where(clips < 0, -77, clips),
    ]


@tw.function
def first_above(x, limit, n):
    found = -1
    for i in range(n):
        if tw.load(x[i]) > limit:
            found = i
            break
    return found


@tw.function
def first_of(x, wanted, n):
    for i in range(n):
        value = tw.load(x[i])
        if value == wanted:
            return i, value * 1.5
    return -1, 0.0


@tw.function
def any_negative(tile):
    for j in range(2):  # noqa: SIM110
        if tile[j] < 0:
            return True
    return False


@tw.function
def tile_of(x, n):
    i = 0
    while i < n:
        tile = tw.load(x[tw.ds(i, 2)])
        if any_negative(tile):
            return tile
        i += 2
    return tw.zeros((2,), tw.i64)


@tw.kernel
def returns_from_loops(x: tw.Tensor["N"], out: tw.Tensor[6]):
    index, value = first_of(x, 4, N)
    tw.store(out[0], index)
    tw.store(out[1], value)
    index, value = first_of(x, 77, N)
    tw.store(out[2], index)
    tw.store(out[3], value)
    tw.store(out[tw.ds(4, 2)], tile_of(x, N))


def test_returns_from_loops():
    x = np.array([3, 1, 4, -1, 5, -9], np.int64)
    out = np.full(6, -77, np.float64)
    returns_from_loops[1](x, out)
    assert out.tolist() == [2, 6, -1, 0, 4, -1]
    returns_from_loops[1](np.abs(x), out)
    assert out.tolist() == [2, 6, -1, 0, 0, 0]


@tw.function
def partly(x, sign):
    if x > 0:
        if x > 100:
            return 100 * sign
        x = x + 1
    return x


@tw.function
def picks(kind, x):
    if kind == "double":
        return double(x)
    if kind == "none":
        return None
    return x


@tw.function
def unrolled(values, wanted):
    for i, each in enumerate(values):
        if each == wanted:
            return i
    return -1


@tw.kernel
def returns(x: tw.Tensor["N"], out: tw.Tensor["N"]):
    for i in range(N):
        tw.store(out[i], partly(tw.load(x[i]), -1))
    tw.store(out[0], first_above(x, 3, N))
    tw.store(out[1], unrolled((4, 5, 6), 6))
    assert picks("none", 1) is None
    assert picks("double", 4) == 8
    assert unrolled((), 1) == -1


def test_returns_from_loops_and_branches():
    x = np.array([3, -1, 4, 101, 0], np.int64)
    out = np.full(5, -77, np.int64)
    returns[1](x, out)
    assert out.tolist() == [2, 2, 5, -100, 0]


def make_kernel(width, combine):
    bias = width + 1

    @tw.function
    def inner(x):
        return combine(x, bias)

    @tw.kernel
    def closed(x: tw.Tensor["N"], out: tw.Tensor["N"]):
        tw.store(out[tw.ds(0, width)], inner(tw.load(x[tw.ds(0, width)])))

    return closed


@tw.function
def add(a, b):
    return a + b


@tw.function
def multiply(a, b):
    return a * b


def test_closures():
    x = np.arange(6, dtype=np.int64)
    for width, function, expected in ((4, add, x[:4] + 5), (2, multiply, x[:2] * 3)):
        out = np.full(6, -77, np.int64)
        make_kernel(width, function)[1](x, out)
        assert out[:width].tolist() == expected.tolist()
        assert (out[width:] == -77).all()


@dataclass(frozen=True)
class Config:
    block: int
    name: str = "plain"

    def padded(self, n):
        return -(-n // self.block) * self.block

    @property
    def half(self):
        return self.block // 2

    @tw.function
    def shift(self, x, by=None):
        if by is None:
            by = self.block
        return x + by


CONFIG = Config(8)


@tw.kernel
def folds(out: tw.Tensor["N"]):
    tw.store(out[0], next_power_of_two(100))
    tw.store(out[1], double(CONFIG.padded(13)))
    tw.store(out[2], CONFIG.half)
    tw.store(out[3], int(math.log2(CONFIG.block)))
    tw.store(out[4], CONFIG.shift(tw.num_programs(0)))
    tw.store(out[5], CONFIG.shift(1, 2))
    tw.store(out[6], int(np.prod((2, 3, 4))))
    assert f"{CONFIG.name!r:>8}/{CONFIG.block:03}" == " 'plain'/008", f"not {CONFIG.name}"


def test_python_functions_and_methods_fold():
    out = np.full(7, -77, np.int64)
    folds[1](out)
    assert out.tolist() == [128, 32, 4, 3, 9, 3, 24]


@tw.kernel
def pythons_own(x: tw.Tensor[4], out: tw.Tensor["N"]):
    a, b = tw.load(x[0]), tw.load(x[1])
    tw.store(out[0], abs(b))
    tw.store(out[1], min(a, b, 2))
    tw.store(out[2], max(a, b))
    tw.store(out[3], sum((a, b, 3)))
    tw.store(out[4], sum(tw.load(x[i]) for i in range(4)))
    tw.store(out[5], 1 if any((a < 0, b < 0)) else 0)
    tw.store(out[6], 1 if all(v < 0 for v in (a, b)) else 0)


def test_pythons_own_functions_on_scalars():
    x = np.array([3, -4, 5, 6], np.int64)
    out = np.full(7, -77, np.int64)
    pythons_own[1](x, out)
    assert out.tolist() == [4, -4, 3, 2, 10, 1, 0]


def test_locations_of_a_function(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        stores(x[0], 3)

    text = f.program(
        "cpu", f.specialise({"x": tw.frontend.signature.ArrayArgument("tensor", tw.i64, (None,))})
    ).text()
    line = stores.source.first_line + 4
    assert f"store(%view, %c3) @ {line}:5" in text
