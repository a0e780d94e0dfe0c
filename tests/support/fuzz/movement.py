"""Productions that move elements within a tile, or combine them in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tilewire as tw
from op_cases.compare import EPSILON
from tilewire.types import to_numpy_dtype

from fuzz.bounded import UNKNOWN, Bounded, cast, common_dtype, finish
from fuzz.expressions import Expressions, Production, Shape, sum_dtype
from fuzz.nodes import Node


def of_kind(make_node: Callable[[Expressions, Shape, str, int], Node], kind: str) -> Production:
    return lambda make, shape, depth: make_node(make, shape, kind, depth)


def rearranged(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    """`transpose`, `flip`, a part, or two parts joined."""
    if not shape:
        return make.tile(shape, kind, depth)
    choice = make.random.choice([transposed, flipped, part, joined, sorted_])
    return choice(make, shape, kind, depth)


def transposed(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    axes = list(range(len(shape)))
    make.random.shuffle(axes)
    before = [0] * len(shape)
    for new, old in enumerate(axes):
        before[old] = shape[new]
    inner = make.tile(tuple(before), kind, depth)
    is_reverse = axes == list(range(len(shape)))[::-1]
    text = f"({inner.text}).T" if is_reverse else f"tw.transpose({inner.text}, {tuple(axes)})"
    return Node(
        text, inner.dtype, shape, lambda env: inner.run(env).map(lambda a: np.transpose(a, axes))
    )


def flipped(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    inner, axis = make.tile(shape, kind, depth), make.random.randrange(len(shape))
    return make.unary(
        f"tw.flip({inner.text}, {axis})", inner, lambda x: x.map(lambda a: np.flip(a, axis))
    )


def part(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    axis = make.random.randrange(len(shape))
    before, behind = make.random.randint(0, 2), make.random.randint(0, 2)
    whole = list(shape)
    whole[axis] += before + behind
    inner = make.tile(tuple(whole), kind, depth)
    items = [":"] * len(shape)
    items[axis] = f"{before}:{before + shape[axis]}"
    chosen = tuple(slice(before, before + n) if i == axis else slice(None)
                   for i, n in enumerate(shape))  # fmt: skip
    return Node(
        f"({inner.text})[{', '.join(items)}]",
        inner.dtype,
        shape,
        lambda env: inner.run(env).map(lambda array: array[chosen]),
    )


def joined(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    axis = make.random.randrange(len(shape))
    if shape[axis] < 2:
        return make.tile(shape, kind, depth)
    cut = make.random.randint(1, shape[axis] - 1)
    shapes = [(*shape[:axis], n, *shape[axis + 1 :]) for n in (cut, shape[axis] - cut)]
    a, b = (make.tile(each, kind, depth) for each in shapes)
    dtype = common_dtype(a.dtype, b.dtype) if a.dtype != b.dtype else a.dtype

    def run(environment):
        parts = [cast(each.run(environment), dtype) for each in (a, b)]
        value = np.concatenate([each.value for each in parts], axis)
        return Bounded(dtype, value, np.concatenate([each.error for each in parts], axis))

    return Node(f"tw.cat({a.text}, {b.text}, {axis})", dtype, shape, run)


def sorted_(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    """Moving every element by at most e moves every sorted one by at most e."""
    if kind == "bool":
        return flipped(make, shape, kind, depth)
    axis, descending = make.random.randrange(len(shape)), make.random.random() < 0.5
    inner = make.tile(shape, kind, depth)

    def order(x: Bounded) -> Bounded:
        value = np.sort(x.value, axis)
        value = np.flip(value, axis) if descending else value
        error = np.broadcast_to(np.max(x.error, axis, keepdims=True), shape)
        return Bounded(x.dtype, value, error)

    return make.unary(f"tw.sort({inner.text}, {axis}, {descending})", inner, order)


def scanned(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    if not shape:
        return make.reduced(shape, kind, depth)
    axis, reverse = make.random.randrange(len(shape)), make.random.random() < 0.3
    inner = make.tile(shape, kind, depth)
    result = sum_dtype(inner.dtype)

    def along(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
        array = np.flip(array, axis) if reverse else array
        total = np.cumsum(array, axis, dtype=dtype)
        return np.flip(total, axis) if reverse else total

    def run(environment) -> Bounded:
        x = inner.run(environment)
        with np.errstate(all="ignore"):
            if not x.is_float:
                value = along(x.value, to_numpy_dtype(result))
                return Bounded(result, value, along(x.error, np.float64))
            rounds = shape[axis] * EPSILON[result] * along(np.abs(x.value), np.float64)
            error = along(x.error, np.float64) + rounds
            return finish(along(x.value, np.float64), error, result)

    return Node(f"tw.cumsum({inner.text}, {axis}, reverse={reverse})", result, shape, run)


def index_of_extreme(make: Expressions, shape: Shape, depth: int) -> Node:
    """`argmax` or `argmin`: known where the winner is ahead of all others."""
    if len(shape) == 3:
        return make.moved(shape, "integer", depth)
    axis, extent = make.random.randint(0, len(shape)), make.random.choice(make.extents)
    extent = extent if extent * max(1, int(np.prod(shape))) <= 600 else 2
    inner = make.tile((*shape[:axis], extent, *shape[axis:]), "number", depth)
    is_max = make.random.random() < 0.5

    def run(environment) -> Bounded:
        x = inner.run(environment)
        wide = x.value if is_max or not x.is_float else -x.value
        place = np.argmax(wide, axis) if is_max or x.is_float else np.argmin(wide, axis)
        if not x.is_float:
            error = np.max(x.error, axis)
        else:
            behind = np.where(np.isfinite(x.error), wide + x.error, UNKNOWN)
            winner = np.expand_dims(place, axis)
            ahead = np.take_along_axis(wide - x.error, winner, axis)
            np.put_along_axis(behind, winner, -UNKNOWN, axis)
            is_exact = np.max(x.error, axis) == 0
            clear = np.max(behind, axis) < np.squeeze(ahead, axis)
            error = np.where(is_exact | clear, 0, UNKNOWN)
        return Bounded(tw.i32, np.asarray(place).astype(np.int32), np.asarray(error))

    return Node(f"tw.{'argmax' if is_max else 'argmin'}({inner.text}, {axis})", tw.i32, shape, run)


def quantified(make: Expressions, shape: Shape, depth: int) -> Node:
    """`any` or `all`."""
    if len(shape) == 3:
        return make.moved(shape, "bool", depth)
    axis, extent = make.random.randint(0, len(shape)), make.random.choice(make.extents)
    extent = extent if extent * max(1, int(np.prod(shape))) <= 600 else 2
    inner = make.tile((*shape[:axis], extent, *shape[axis:]), "bool", depth)
    name = make.random.choice(["any", "all"])
    do = np.any if name == "any" else np.all

    def run(environment) -> Bounded:
        x = inner.run(environment)
        return Bounded(tw.bool, np.asarray(do(x.value, axis)), np.asarray(np.max(x.error, axis)))

    return Node(f"tw.{name}({inner.text}, {axis})", tw.bool, shape, run)


def gathered(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    """`tw.gather`: an index outside gives 0."""
    if not shape:
        return make.extracted(kind, depth)
    axis, extent = make.random.randrange(len(shape)), make.random.choice(make.extents)
    source = (*shape[:axis], extent, *shape[axis + 1 :])
    if int(np.prod(source)) > 600:
        source = shape
    inner, index = make.tile(source, kind, depth), make.tile(shape, "integer", depth)

    def run(environment) -> Bounded:
        x, where = inner.run(environment), index.run(environment)
        inside = (where.value >= 0) & (where.value < source[axis])
        place = np.where(inside, where.value, 0).astype(np.int64)
        value = np.where(inside, np.take_along_axis(x.value, place, axis), 0)
        error = np.where(inside, np.take_along_axis(x.error, place, axis), 0) + where.error
        return Bounded(x.dtype, value.astype(x.value.dtype), error)

    return Node(f"tw.gather({inner.text}, {index.text}, {axis})", inner.dtype, shape, run)


def multiplied(make: Expressions, shape: Shape, depth: int) -> Node:
    """`tw.matmul` of two tiles, accumulated in f32."""
    if len(shape) != 2:
        return make.reduced(shape, "float", depth)
    inner = make.random.choice(make.extents)
    if inner * max(shape) > 600:
        inner = 1
    dtype = make.random.choice([tw.bf16, tw.f16, tw.f32])
    a, b = (
        make.converted(make.tile(each, "float", depth), "float", dtype)
        for each in ((shape[0], inner), (inner, shape[1]))
    )

    def run(environment) -> Bounded:
        x, y = cast(a.run(environment), dtype), cast(b.run(environment), dtype)
        with np.errstate(all="ignore"):
            size = np.abs(x.value) @ np.abs(y.value)
            error = np.abs(x.value) @ y.error + x.error @ np.abs(y.value) + x.error @ y.error
            error = np.nan_to_num(error + (inner + 1) * EPSILON[tw.f32] * size, nan=UNKNOWN)
        return finish(x.value @ y.value, error, tw.f32)

    text = f'tw.matmul({a.text}, {b.text}, precision="ieee")'
    return Node(text, tw.f32, shape, run)


MOVEMENT = {
    "float": [of_kind(rearranged, "float"), of_kind(scanned, "float"), of_kind(gathered, "float"),
              multiplied],
    "integer": [of_kind(rearranged, "integer"), of_kind(scanned, "integer"),
                of_kind(gathered, "integer"), index_of_extreme],
    "bool": [of_kind(rearranged, "bool"), quantified],
}  # fmt: skip
