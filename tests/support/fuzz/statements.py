"""Statements of a generated program: their text, and their effect on an environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import tilewire as tw

from fuzz.bounded import Bounded, cast, exact
from fuzz.nodes import Environment, Node, integer


@dataclass
class Assign:
    name: str
    value: Node

    def lines(self) -> Iterator[str]:
        yield f"{self.name} = {self.value.text}"

    def execute(self, environment: Environment) -> None:
        environment[self.name] = self.value.evaluate(environment)


@dataclass
class Store:
    """`place` is a view's part; `inside` computes positions and mask there."""

    place: Place
    value: Node
    where: Node | None

    def lines(self) -> Iterator[str]:
        mask = "" if self.where is None else f", where={self.where.text}"
        yield f"tw.store({self.place.text}, {self.value.text}{mask})"

    def execute(self, environment: Environment) -> None:
        memory, positions, inside = self.place.resolve(environment)
        tile = cast(self.value.run(environment), memory.elements.dtype)
        mask = exact(inside, tw.bool)
        if self.where is not None:
            where = self.where.run(environment)
            mask = Bounded(
                tw.bool,
                inside & self.place.spread(where.value),
                np.where(inside, self.place.spread(where.error), 0),
            )
        shape = self.place.shape
        tile = tile.map(lambda array: self.place.spread(np.broadcast_to(array, shape)))
        memory.scatter(positions, mask, tile)


@dataclass
class For:
    """`head` is what stands between `in` and the colon; the bounds are its meaning."""

    name: str
    head: str
    lower: Node
    upper: Node
    step: int
    body: list[Statement] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield f"for {self.name} in {self.head}:"
        yield from block_lines(self.body)

    def execute(self, environment: Environment) -> None:
        bounds = integer(self.lower)(environment), integer(self.upper)(environment)
        for index in range(*bounds, self.step):
            environment[self.name] = exact(np.asarray(index), tw.i64)
            if runs_to_a_break(self.body, environment):
                return


@dataclass
class While:
    condition: Node
    body: list[Statement]

    def lines(self) -> Iterator[str]:
        yield f"while {self.condition.text}:"
        yield from block_lines(self.body)

    def execute(self, environment: Environment) -> None:
        for _ in range(1000):
            condition = self.condition.run(environment)
            assert condition.error == 0, self.condition.text
            if not condition.value or runs_to_a_break(self.body, environment):
                return
        raise AssertionError(f"`while {self.condition.text}` doesn't end")


@dataclass
class If:
    condition: Node
    then_body: list[Statement]
    else_body: list[Statement]

    def lines(self) -> Iterator[str]:
        yield f"if {self.condition.text}:"
        yield from block_lines(self.then_body)
        if self.else_body:
            yield "else:"
            yield from block_lines(self.else_body)

    def execute(self, environment: Environment) -> None:
        condition = self.condition.run(environment)
        assert condition.error == 0, self.condition.text
        for each in self.then_body if condition.value else self.else_body:
            each.execute(environment)


class JumpError(Exception):
    """The way of a `break`, `continue` or `return` out of where it stands."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


@dataclass
class Jump:
    word: str

    def lines(self) -> Iterator[str]:
        yield self.word

    def execute(self, environment: Environment) -> None:
        raise JumpError(self.word)


def runs_to_a_break(body: list[Statement], environment: Environment) -> bool:
    """One iteration."""
    try:
        for each in body:
            each.execute(environment)
    except JumpError as jump:
        if jump.word == "return":
            raise
        return jump.word == "break"
    return False


Statement = Assign | Store | For | While | If | Jump


def block_lines(body: list[Statement]) -> Iterator[str]:
    for each in body:
        for line in each.lines():
            yield f"    {line}"
    if not body:
        yield "    pass"


@dataclass
class Index:
    """One index of a view: `size` None is a scalar that drops the dimension."""

    text: str
    start: Node
    size: int | None


@dataclass
class Place:
    """A part of a parameter that can be loaded or stored: through a chain of clipping ranges, then
    an index per dimension."""

    text: str
    parameter: str
    ranges: list[list[tuple[Node, Node] | None]]
    indices: list[Index]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(index.size for index in self.indices if index.size is not None)

    def spread(self, array: np.ndarray) -> np.ndarray:
        """From the tile's shape to one with an extent of 1 for each scalar index."""
        full = tuple(1 if index.size is None else index.size for index in self.indices)
        return np.broadcast_to(array, self.shape).reshape(full)

    def resolve(self, environment: Environment):
        """The parameter's memory, positions per dimension in it, and which elements are inside."""
        memory = environment[self.parameter]
        positions, masks = [], []
        for axis, index in enumerate(self.indices):
            low, high = 0, memory.elements.shape[axis]
            for clips in self.ranges:
                if clips[axis] is not None:
                    first, last = (integer(each)(environment) for each in clips[axis])
                    extent = high - low
                    first, last = min(max(first, 0), extent), min(max(last, 0), extent)
                    low, high = low + first, max(low + first, low + last)
            start = low + integer(index.start)(environment)
            place = start + np.arange(1 if index.size is None else index.size)
            masks.append((place >= low) & (place < high))
            positions.append(place)
        inside = np.ones([len(each) for each in masks], bool)
        for axis, mask in enumerate(masks):
            inside &= mask.reshape([-1 if i == axis else 1 for i in range(len(masks))])
        return memory, positions, inside
