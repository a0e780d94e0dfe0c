"""Random parts of parameters: scalar indices, `:`, `tw.ds`, ranges that clip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tilewire as tw

from fuzz import bounded
from fuzz.bounded import Bounded, exact
from fuzz.expressions import MAX_ELEMENTS, Expressions
from fuzz.nodes import Environment, Node, literal
from fuzz.statements import Index, Place


@dataclass
class View:
    text: str
    parameter: str
    dtype: tw.DType
    array: Any
    ranges: list[list[tuple[Node, Node] | None]]


@dataclass
class Clip:
    """`name = x[lower:upper, …]`; its meaning is in the places that are made of it."""

    name: str
    value: str

    def lines(self) -> Iterator[str]:
        yield f"{self.name} = {self.value}"

    def execute(self, environment: Environment) -> None:
        pass


class Views:
    """`scalars`: integers that are always known, for indices."""

    def __init__(self, make: Expressions) -> None:
        self.make = make
        self.random = make.random
        self.views: list[View] = []
        self.scalars: list[Node] = []

    def add(self, name: str, dtype: tw.DType, array: Any) -> None:
        self.views.append(View(name, name, dtype, array, []))

    def scalar(self, extent: int) -> Node:
        """Mostly inside an extent."""
        if self.random.random() < 0.5:
            return literal(self.random.randrange(max(1, extent)), tw.i64)
        base = self.random.choice(self.scalars)
        if self.random.random() < 0.5:
            return base
        return self.make.binary("sub", base, literal(self.random.randint(1, 3), base.dtype))

    def clip(self, name: str) -> Clip:
        view = self.random.choice(self.views)
        clips: list[tuple[Node, Node] | None] = []
        items = []
        for extent in view.array.values.shape:
            if self.random.random() < 0.4:
                clips.append(None)
                items.append(":")
                continue
            bounds = [self.random.choice(self.scalars), self.scalar(extent)]
            if self.random.random() < 0.3:
                bounds.reverse()
            clips.append((bounds[0], bounds[1]))
            items.append(f"{bounds[0].text}:{bounds[1].text}")
        text = f"{view.text}[{', '.join(items)}]"
        self.views.append(View(name, view.parameter, view.dtype, view.array, [*view.ranges, clips]))
        return Clip(name, text)

    def place(self) -> tuple[View, Place]:
        view = self.random.choice(self.views)
        indices: list[Index] = []
        elements = 1
        for axis, extent in enumerate(view.array.values.shape):
            clipped = any(clips[axis] is not None for clips in view.ranges)
            whole = view.array.is_constant[axis] and not clipped
            choice = self.random.random()
            size = self.random.choice(self.make.extents)
            if whole and choice < 0.6 and elements * extent <= MAX_ELEMENTS:
                indices.append(Index(":", literal(0, tw.i64), extent))
                elements *= extent
            elif choice < 0.75 and elements * size <= MAX_ELEMENTS:
                start = self.scalar(extent)
                indices.append(Index(f"tw.ds({start.text}, {size})", start, size))
                elements *= size
            else:
                at = self.scalar(extent)
                indices.append(Index(at.text, at, None))
        text = f"{view.text}[{', '.join(each.text for each in indices)}]"
        return view, Place(text, view.parameter, view.ranges, indices)

    def load_of(self, shape: tuple[int, ...]) -> Node | None:
        """A load of this shape, by a `tw.ds` for each of its dimensions."""
        fitting = [each for each in self.views if each.array.values.ndim >= len(shape)]
        if not fitting:
            return None
        view = self.random.choice(fitting)
        indices: list[Index] = []
        lead = view.array.values.ndim - len(shape)
        for axis, extent in enumerate(view.array.values.shape):
            start = self.scalar(extent)
            if axis < lead:
                indices.append(Index(start.text, start, None))
            else:
                size = shape[axis - lead]
                start = literal(self.random.randint(0, max(0, extent - size)), tw.i64)
                indices.append(Index(f"tw.ds({start.text}, {size})", start, size))
        text = f"{view.text}[{', '.join(each.text for each in indices)}]"
        return self.load_at(view, Place(text, view.parameter, view.ranges, indices), plain=True)

    def load(self) -> Node:
        return self.load_at(*self.place())

    def load_at(self, view: View, place: Place, plain: bool = False) -> Node:
        """`plain`: without `other=` and `where=`."""
        dtype = view.dtype
        other = where = None
        if not plain and self.random.random() < 0.3:
            other = literal(self.make.number(dtype), dtype)
        if not plain and place.shape and self.random.random() < 0.2:
            where = self.make.tile(place.shape, "bool", 1)
        text = f"tw.load({place.text}"
        text += f", other={other.text}" if other else ""
        text += f", where={where.text})" if where else ")"

        def run(environment: Environment) -> Bounded:
            memory, positions, inside = place.resolve(environment)
            filler = exact(np.asarray(0), dtype)
            if other is not None:
                filler = bounded.cast(other.run(environment), dtype)
            if where is None:
                tile = memory.gather(positions, inside, filler)
                return tile.map(lambda array: array.reshape(place.shape))
            mask = where.run(environment)
            chosen = memory.gather(positions, inside & place.spread(mask.value), filler)
            error = chosen.error + place.spread(mask.error)
            made = Bounded(dtype, chosen.value, error)
            return made.map(lambda array: array.reshape(place.shape))

        return Node(text, dtype, place.shape, run)

    def load_rows(self) -> Node | None:
        """A gather: a tile of integers as the first index, any of them outside."""
        fitting = [e for e in self.views if e.array.values.ndim in (1, 2) and not e.ranges]
        if not fitting:
            return None
        view, rows = self.random.choice(fitting), self.random.choice(self.make.extents)
        index = self.make.tile((rows,), "integer", 1)
        columns = [self.random.choice(self.make.extents)] * (view.array.values.ndim - 1)
        items = ", ".join([index.text, *(f"tw.ds(0, {each})" for each in columns)])

        def run(environment: Environment) -> Bounded:
            memory, numbers = environment[view.parameter], index.run(environment)
            extent = memory.elements.shape[0]
            inside = (numbers.value >= 0) & (numbers.value < extent)
            place = np.where(inside, numbers.value, 0).astype(np.int64)
            positions, mask = [place], inside
            if columns:
                column = np.arange(columns[0])
                positions.append(column)
                mask = inside[:, None] & (column < memory.elements.shape[1])
            tile = memory.gather(positions, mask, exact(np.asarray(0), view.dtype))
            unknown = numbers.error.reshape([-1] + [1] * len(columns))
            return Bounded(view.dtype, tile.value, tile.error + unknown)

        return Node(f"tw.load({view.text}[{items}])", view.dtype, (rows, *columns), run)
