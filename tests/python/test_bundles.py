"""Tuples, dicts, NamedTuples and dataclasses in kernels: made, read, carried, unrolled over."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewire as tw

X = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int64)


@dataclass
class Moments:
    total: Any
    largest: Any
    count: Any = 0
    block: tw.const = 4
    name: str = "moments"

    @tw.function
    def with_tile(self, tile):
        return Moments(
            self.total + tw.sum(tile), tw.maximum(self.largest, tw.max(tile)), self.count + 1
        )


class Pair(NamedTuple):
    low: Any
    high: Any


@tw.kernel
def carried(x: tw.Tensor["N"], out: tw.Tensor["M"]):
    moments = Moments(total=0, largest=tw.load(x[0]))
    pair = Pair(100, -100)
    last = (0, (0, 0))
    for start in range(0, N, moments.block):
        tile = tw.load(x[tw.ds(start, moments.block)])
        moments = moments.with_tile(tile)
        if tw.sum(tile) > 8:
            pair = Pair(min(pair.low, start), max(pair.high, start))
            moments = replace(moments, count=moments.count + 10)
        else:
            pair = pair._replace(low=-1)
        last = (start, (tile[0], last[0]))
    low, high = pair
    results = (moments.total, moments.largest, moments.count, low, high, last[0])
    for i, each in enumerate(results + last[1]):
        tw.store(out[i], each)
    assert moments.name == "moments" and moments.block == 4


def test_bundles_are_carried():
    out = np.full(8, -77, np.int64)
    carried[1](X, out)
    total, low, high, count, last = 0, 100, -100, 0, (0, (0, 0))
    for start in (0, 4):
        tile = X[start : start + 4]
        total += tile.sum()
        count += 1
        if tile.sum() > 8:
            low, high, count = min(low, start), max(high, start), count + 10
        else:
            low = -1
        last = (start, (tile[0], last[0]))
    assert out.tolist() == [total, X.max(), count, low, high, last[0], *last[1]]


class Layer(NamedTuple):
    weight: Any
    offset: int
    view: Any


@tw.kernel
def views_and_constants(x: tw.Tensor[8], y: tw.Tensor[8], out: tw.Tensor[4]):
    layers = (Layer(2, 0, x), Layer(3, 4, y))
    acc = tw.zeros((4,), tw.i64)
    for layer in layers:
        acc += layer.weight * tw.load(layer.view[tw.ds(layer.offset, 4)])
    state = Layer(acc, 1, y)
    for i in range(2):
        state = Layer(state.weight + tw.load(state.view[i]), state.offset, state.view)
    tw.store(out[:], state.weight)


def test_views_in_bundles():
    y = X[::-1].copy()
    out = np.full(4, -77, np.int64)
    views_and_constants[1](X, y, out)
    assert out.tolist() == (2 * X[:4] + 3 * y[4:] + y[0] + y[1]).tolist()


SIZES = {"small": 2, "large": 4}
ORDER = ["large", "small"]


@tw.kernel
def constants(x: tw.Tensor[8], out: tw.Tensor["N"]):
    sizes = {name: 2 * size for name, size in SIZES.items() if size > 1}
    total = 0
    for name in tw.unroll(ORDER):
        total = total * 100 + sizes[name]
    parts = [tw.load(x[i]) for i in range(4)]
    parts = [*parts, tw.load(x[7])]
    for (i, part), weight in zip(enumerate(parts), reversed(range(5)), strict=True):
        tw.store(out[i], part * weight)
    squares = tuple(i * j for i in range(3) for j in range(i))
    tw.store(out[5], total)
    tw.store(out[6], sum(squares) + len(parts) + len(sizes))
    for i in tw.unroll(zip((7, 8), (70, 80), strict=True)):
        tw.store(out[i[0]], i[1])
    assert squares == (0, 0, 2) and "large" in SIZES and sizes.get("none") is None
    assert sorted(SIZES) == ("large", "small")


def test_compile_time_sequences():
    out = np.full(9, -77, np.int64)
    constants[1](X, out)
    parts = [*X[:4], X[7]]
    assert out.tolist() == [
        *(p * w for p, w in zip(parts, (4, 3, 2, 1, 0), strict=True)),
        804,
        9,
        70,
        80,
    ]


@tw.function
def state_in_a_branch(state, flag):
    if flag:
        return Pair(state.high, state.low)
    return state


@tw.kernel
def returned(x: tw.Tensor[8], out: tw.Tensor[8], *, SWAP: tw.const):
    pair = Pair(tw.load(x[tw.ds(0, 4)]), tw.load(x[tw.ds(4, 4)]))
    pair = state_in_a_branch(pair, SWAP)
    pair = state_in_a_branch(pair, pair.low[0] > 0)
    tw.store(out[tw.ds(0, 4)], pair.low)
    tw.store(out[tw.ds(4, 4)], pair.high)


def test_bundles_are_returned():
    for swap in (False, True):
        out = np.full(8, -77, np.int64)
        returned[1](X, out, SWAP=swap)
        low, high = (X[4:], X[:4]) if swap else (X[:4], X[4:])
        low, high = (high, low) if low[0] > 0 else (low, high)
        assert out.tolist() == [*low, *high]


class Weights(NamedTuple):
    gain: tw.Tensor["H"]
    scale: tw.f32
    H: tw.const = None


@dataclass
class Ends:
    low: "tw.i64"
    outputs: "tw.Tensor['T', 'H']"
    OFFSET: "tw.const" = 1


@tw.kernel
def takes_bundles(x: tw.Tensor["T", "H"], w: Weights, ends: Ends, *, FACTOR: tw.const = 1):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :]) * tw.load(w.gain[:]) * w.scale
        assert w.H == 4 and tile.shape == (H,)
        tw.store(ends.outputs[row, :], tile * FACTOR + ends.low + ends.OFFSET)


def test_kernels_take_bundles():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    gain = np.array([1, 2, 3, 4], np.float32)
    for factor in (1, 3):
        for offset in (1, 5):
            out = np.full_like(x, np.nan)
            weights, ends = Weights(gain, 2.0), Ends(10, out, offset)
            if factor == 1:
                takes_bundles[1](x, weights, ends)
            else:
                takes_bundles[1](x, ends=ends, w=weights, FACTOR=factor)
            assert (out == x * gain * 2 * factor + 10 + offset).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x, out: takes_bundles[1](x, (x[0], 2.0), Ends(1, out)),
            "kernel `takes_bundles`: argument `w` must be a Weights, found (",
        ),
        (
            lambda x, out: takes_bundles[1](x, Weights(x[0], 1.0, 5), Ends(1, out)),
            "takes_bundles: argument `x` must have extent 5 in dimension 1",
        ),
        (
            lambda x, out: takes_bundles[1](x, Weights(x[0], 1.0), Ends(1, out), OFFSET=3),
            "kernel `takes_bundles`: the constant `OFFSET` is passed as 1 and as 3",
        ),
        (
            lambda x, out: takes_bundles[1](x, Weights(x[0], 1.0)),
            "takes_bundles: missing argument `ends_low`",
        ),
    ],
)
def test_wrong_bundles(call, message):
    x = np.zeros((2, 4), np.float32)
    with pytest.raises(tw.UserError) as caught:
        call(x, x.copy())
    assert str(caught.value).startswith(message)


def test_field_without_an_annotation_for_kernels():
    def f(x: tw.Tensor["N"], pair: Pair):
        pass

    with pytest.raises(tw.UserError) as caught:
        tw.kernel(f)
    assert caught.value.message.startswith("field `low` of Pair is annotated typing.Any: write tw.")
