"""Random expressions of a wanted shape and kind."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import tilewire as tw
from op_cases.case import FP8, INTEGERS, UNSIGNED

from fuzz import arithmetic, bounded
from fuzz.bounded import FLOATS, Bounded, common_dtype, exact
from fuzz.nodes import Node, literal

MAX_ELEMENTS = 600
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%"}
SIGNS |= {"shift_left": "<<", "shift_right": ">>", "and": "&", "or": "|", "xor": "^"}
SIGNS |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
Shape = tuple[int, ...]
Production = Callable[["Expressions", Shape, int], Node]


def kind_of(dtype: tw.DType) -> str:
    if dtype == tw.bool:
        return "bool"
    return "integer" if dtype in INTEGERS else "float"


def size_of(shape: Shape) -> int:
    return int(np.prod(shape))


class Expressions:
    """`tile(shape, kind, depth)`: a node; `scope` holds the variables that it may use."""

    def __init__(
        self, source: random.Random, extents: list[int], productions: dict[str, list[Production]]
    ) -> None:
        self.random = source
        self.productions = productions
        self.extents = extents
        self.scope: list[Node] = []
        self.is_in_function = False
        self.functions: dict[str, str] = {}
        """Name → text of each `@tw.function` that was made."""
        self.load: Callable[[Shape], Node | None] = lambda shape: None
        """A load that gives this shape, or None: where no variable does."""

    def tile(self, shape: Shape, kind: str, depth: int) -> Node:
        """A node of exactly this shape; `kind`: float, integer, bool or number."""
        if kind == "number":
            kind = self.random.choice(["float", "float", "integer"])
        if depth <= 0:
            return self.leaf(shape, kind)
        return self.random.choice(self.productions[kind])(self, shape, depth - 1)

    # Leaves.
    def leaf(self, shape: Shape, kind: str) -> Node:
        fitting = [each for each in self.scope if each.shape == shape]
        of_kind = [e for e in fitting if kind_of(e.dtype) == kind and e.dtype not in FP8]
        if of_kind and self.random.random() < 0.9:
            return self.random.choice(of_kind)
        others = [each for each in self.scope if size_of(each.shape) == size_of(shape) != 1]
        if fitting and self.random.random() < 0.7:
            return self.converted(self.random.choice(fitting), kind)
        if others and shape and self.random.random() < 0.7:
            return self.converted(self.reshaped(self.random.choice(others), shape), kind)
        if shape:
            loaded = self.load(shape) if self.random.random() < 0.8 else None
            return self.converted(loaded, kind) if loaded else self.filled(shape, kind)
        return self.converted(self.random.choice(fitting), kind)

    def filled(self, shape: Shape, kind: str) -> Node:
        dtype = self.dtype(kind)
        if kind == "integer" and len(shape) == 1 and self.random.random() < 0.5:
            start = self.random.randint(-3, 5)
            values = exact(np.arange(start, start + shape[0]), tw.i32)
            return Node(f"tw.arange({start}, {start + shape[0]})", tw.i32, shape, lambda _: values)
        value = self.number(dtype)
        return Node(
            f"tw.full({shape}, {value!r}, {dtype})",
            dtype,
            shape,
            lambda _: exact(np.full(shape, value), dtype),
        )

    def number(self, dtype: tw.DType) -> bool | int | float:
        """Small, and exact in every dtype."""
        if dtype == tw.bool:
            return self.random.random() < 0.5
        if dtype in INTEGERS:
            return self.random.randint(1 if dtype in UNSIGNED else -7, 7)
        return self.random.choice([0.5, 2.0, -1.25, 3.0, 0.0, -0.75])

    def dtype(self, kind: str) -> tw.DType:
        if kind == "bool":
            return tw.bool
        return self.random.choice(FLOATS if kind == "float" else INTEGERS)

    # From one node to another.
    def converted(self, node: Node, kind: str, dtype: tw.DType | None = None) -> Node:
        if kind_of(node.dtype) == kind and node.dtype not in FP8 and dtype is None:
            return node
        to = dtype or self.dtype(kind)
        return Node(
            f"({node.text}).to({to})", to, node.shape, lambda env: bounded.cast(node.run(env), to)
        )

    def reshaped(self, node: Node, shape: Shape) -> Node:
        return Node(
            f"tw.reshape({node.text}, {shape})",
            node.dtype,
            shape,
            lambda env: node.run(env).map(lambda array: array.reshape(shape)),
        )

    def unary(self, text: str, node: Node, do: Callable[[Bounded], Bounded]) -> Node:
        return Node(text, node.dtype, node.shape, lambda env: do(node.run(env)))

    def binary(self, op: str, a: Node, b: Node, text: str | None = None) -> Node:
        dtype = tw.bool if op in arithmetic.COMPARISONS else common_dtype(a.dtype, b.dtype)
        shape = np.broadcast_shapes(a.shape, b.shape)
        text = text or f"({a.text} {SIGNS[op]} {b.text})"
        return Node(text, dtype, shape, lambda env: arithmetic.binary(op, a.run(env), b.run(env)))

    def called(self, op: str, a: Node, b: Node) -> Node:
        return self.binary(op, a, b, f"tw.{op}({a.text}, {b.text})")

    def narrow(self, shape: Shape) -> Shape:
        """A shape that broadcasts to `shape`."""
        choice = self.random.random()
        if choice < 0.4:
            return shape
        if choice < 0.7 or not shape:
            return shape[self.random.randint(0, len(shape)) :]
        return tuple(self.random.choice([1, extent]) for extent in shape)

    def pair(self, shape: Shape, kind: str, depth: int, other_kind: str) -> tuple[Node, Node]:
        """Operands of which the first (or, swapped, the second) has the whole shape."""
        a = self.tile(shape, kind, depth)
        if self.random.random() < 0.25:
            return a, literal(self.number(a.dtype), a.dtype)
        b = self.tile(self.narrow(shape), other_kind, depth)
        return (a, b) if self.random.random() < 0.5 else (b, a)

    # Productions of any kind.
    def selected(self, kind: str) -> Production:
        def make(_: Expressions, shape: Shape, depth: int) -> Node:
            condition = self.tile(self.narrow(shape), "bool", depth)
            a, b = self.pair(shape, kind, depth, kind)
            dtype = common_dtype(a.dtype, b.dtype) if a.dtype != b.dtype else a.dtype
            return Node(
                f"tw.where({condition.text}, {a.text}, {b.text})",
                dtype,
                shape,
                lambda env: bounded.where(condition.run(env), a.run(env), b.run(env)),
            )

        return make

    def moved(self, shape: Shape, kind: str, depth: int) -> Node:
        """The same elements in another place: broadcast, reshape, `[:, None]`, `[i, j]`."""
        if not shape:
            return self.extracted(kind, depth)
        if 1 in shape and len(shape) > 1 and self.random.random() < 0.7:
            axis = self.random.choice([i for i, extent in enumerate(shape) if extent == 1])
            inner = self.tile(shape[:axis] + shape[axis + 1 :], kind, depth)
            items = ", ".join("None" if i == axis else ":" for i in range(len(shape)))
            return Node(
                f"({inner.text})[{items}]",
                inner.dtype,
                shape,
                lambda env: inner.run(env).map(lambda array: np.expand_dims(array, axis)),
            )
        if self.random.random() < 0.5:
            inner = self.tile(self.narrow(shape), kind, depth)
            return Node(
                f"tw.broadcast({inner.text}, {shape})",
                inner.dtype,
                shape,
                lambda env: inner.run(env).map(lambda array: np.broadcast_to(array, shape)),
            )
        return self.reshaped(self.tile(self.other_shape(shape), kind, depth), shape)

    def other_shape(self, shape: Shape) -> Shape:
        """One with as many elements."""
        total = size_of(shape)
        factor = self.random.choice([n for n in range(1, total + 1) if total % n == 0])
        return self.random.choice([(total,), (factor, total // factor), (1, total)])

    def extracted(self, kind: str, depth: int) -> Node:
        shape = self.some_shape()
        inner = self.tile(shape, kind, depth)
        place = tuple(self.random.randrange(extent) for extent in shape)
        items = ", ".join(map(str, place))
        return Node(
            f"({inner.text})[{items}]",
            inner.dtype,
            (),
            lambda env: inner.run(env).map(lambda array: np.asarray(array[place])),
        )

    def some_shape(self, max_rank: int = 3) -> Shape:
        known = [each.shape for each in self.scope if each.shape]
        if known and self.random.random() < 0.6:
            return self.random.choice(known)
        while True:
            rank = self.random.choice([1, 1, 2, 2, 2, 3][: 2 * max_rank])
            shape = tuple(self.random.choice(self.extents) for _ in range(rank))
            if size_of(shape) <= MAX_ELEMENTS:
                return shape

    def reduced(self, shape: Shape, kind: str, depth: int) -> Node:
        """`sum`, `max` or `min`, along an axis that `shape` doesn't have."""
        op = self.random.choice(["sum", "max", "min"])
        if len(shape) == 3:
            return self.moved(shape, kind, depth)
        axis = self.random.randint(0, len(shape))
        extent = self.random.choice(self.extents)
        if extent * size_of(shape) > MAX_ELEMENTS:
            extent = 1
        whole = (*shape[:axis], extent, *shape[axis:])
        if not shape and self.random.random() < 0.6:
            axis, whole = None, self.some_shape()
        return self.reduce(op, self.tile(whole, kind, depth), axis)

    def reduce(self, op: str, x: Node, axis: int | None) -> Node:
        result = sum_dtype(x.dtype) if op == "sum" else x.dtype
        how = "" if axis is None else f", axis={axis}"
        shape = () if axis is None else x.shape[:axis] + x.shape[axis + 1 :]
        return Node(
            f"tw.{op}({x.text}{how})",
            result,
            shape,
            lambda env: bounded.reduce(op, x.run(env), axis, result),
        )

    def absorbed(self, old: Node, new: Node) -> Node:
        """`old`, its type kept, changed by `new` of any type: so nothing computed is useless."""
        kind = kind_of(old.dtype)
        if kind == "bool" or new.dtype == tw.bool or new.dtype in FP8 or kind_of(new.dtype) != kind:
            new = self.converted(new, kind)
        if not broadcasts(new.shape, old.shape):
            if kind == "bool":
                new = self.converted(new, "integer", tw.i32)
            new = self.reduce(self.random.choice(["sum", "max", "min"]), new, None)
        if kind == "bool":
            made = self.binary("xor", old, self.converted(new, kind))
        elif old.dtype in FP8:
            made = self.binary("add", self.converted(old, kind, tw.f32), new)
        elif self.random.random() < 0.3:
            made = self.called(self.random.choice(["minimum", "maximum"]), old, new)
        else:
            made = self.binary(self.random.choice(["add", "sub"]), old, new)
        return made if made.dtype == old.dtype else self.converted(made, kind, old.dtype)


def broadcasts(shape: Shape, to: Shape) -> bool:
    pairs = zip(reversed(shape), reversed(to), strict=False)
    return len(shape) <= len(to) and all(a in (1, b) for a, b in pairs)


def sum_dtype(dtype: tw.DType) -> tw.DType:
    if dtype in FLOATS:
        return tw.f64 if dtype == tw.f64 else tw.f32
    narrow = {tw.bool: tw.i32, tw.i8: tw.i32, tw.i16: tw.i32, tw.u8: tw.u32, tw.u16: tw.u32}
    return narrow.get(dtype, dtype)
