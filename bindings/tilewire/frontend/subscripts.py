"""`view[…]`, `tile[i, j]`, `tile[:, None]` and the subscripts of Python's own values."""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import Index, Value, kDynamic
from tilewire.frontend.records import slice_records
from tilewire.frontend.values import (
    DynamicSlice,
    RangeSlice,
    RecordView,
    describe,
    is_operand,
    is_static,
)
from tilewire.frontend.visitor import Visitor


class Subscripts(Visitor):
    def evaluate_subscript(self, node: ast.Subscript) -> Any:
        base = self.evaluate(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(base, Value):
            if base.type.is_view:
                return self.slice_view(node, base, items)
            return self.index_tile(node, base, items)
        if isinstance(base, RecordView):
            return slice_records(self, node, base, items)
        index = self.static_index(node.slice)
        if not is_static(index):
            self.fail(
                node,
                f"the index into {describe(base)} must be known at compile time, found "
                f"{describe(index)}: choose with `if`, or tw.where",
            )
        return self.fold(node, lambda: base[index])

    def static_index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(self.static_index(each) for each in node.elts)
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self.evaluate(part) for part in parts))
        return self.evaluate(node)

    def slice_view(self, node: ast.Subscript, view: Value, items: list[ast.expr]) -> Value:
        if len(items) > view.type.rank:
            self.fail(
                node,
                f"{len(items)} indices into {describe(view)} of rank {view.type.rank}: give at "
                f"most one for each dimension",
            )
        indices = [self.view_index(item, view, axis) for axis, item in enumerate(items)]
        return self.build(node, "slice", view, indices)

    def view_index(self, item: ast.expr, view: Value, axis: int) -> Index:
        if isinstance(item, ast.Slice):
            if item.step is not None:
                self.fail(item, "a slice of a view has no step: load it whole and select")
            if item.lower is None and item.upper is None:
                return Index.all()
            lower = 0 if item.lower is None else self.index_operand(item.lower)
            if item.upper is None:
                upper = self.extent(item, view, axis)
            else:
                upper = self.index_operand(item.upper)
            return self.checked(item, Index.range, lower, upper)
        value = self.evaluate(item)
        if isinstance(value, DynamicSlice):
            return self.checked(item, Index.ds, value.start, value.size, value.end)
        if isinstance(value, RangeSlice):
            return self.checked(item, Index.range, value.lower, value.upper)
        if value is None:
            self.fail(item, "None adds a dimension to tiles, not to views: load it first")
        if not self.is_index(value):
            self.fail(item, f"{describe(value)} can't index a view: use an integer, `:` or tw.ds")
        if isinstance(value, Value) and value.type.is_tile:
            return self.checked(item, Index.tile, value)
        return self.checked(item, Index.at, value)

    def index_operand(self, node: ast.expr) -> Any:
        value = self.evaluate(node)
        if not self.is_index(value):
            self.fail(node, f"a bound of a slice must be an integer, found {describe(value)}")
        return value

    def is_index(self, value: Any) -> bool:
        return isinstance(value, Value) or (isinstance(value, int) and not isinstance(value, bool))

    def extent(self, node: ast.AST, value: Value, axis: int) -> Any:
        """A Python int where it is static."""
        size = value.type.shape[axis]
        if size != kDynamic:
            return size
        return self.build(node, "extent", value, axis)

    def index_tile(self, node: ast.Subscript, tile: Value, items: list[ast.expr]) -> Value:
        """An integer for each dimension: one element. Fewer that Python knows, or slices: a part.
        None: a new dimension of extent 1."""
        if tile.type.is_scalar:
            self.fail(node, f"{describe(tile)} has no elements to index")
        if any(isinstance(item, ast.Slice) or _is_none(item) for item in items):
            return self.part_of_tile(node, tile, items)
        values = [self.evaluate(item) for item in items]
        for item, value in zip(items, values, strict=True):
            if not is_operand(value) or not self.is_index(value):
                self.fail(item, f"{describe(value)} can't index a tile: use an integer")
        if len(values) < tile.type.rank and all(isinstance(value, int) for value in values):
            return self.part_of_tile(node, tile, items)
        if len(values) != tile.type.rank:
            self.fail(
                node,
                f"{len(values)} indices into {describe(tile)} of rank {tile.type.rank}: give one "
                f"for each dimension",
            )
        return self.build(node, "extract", tile, values)

    def part_of_tile(self, node: ast.Subscript, tile: Value, items: list[ast.expr]) -> Value:
        start: list[int] = []
        taken: list[int] = []
        shape: list[int] = []
        rest = list(tile.type.shape)
        for item in items:
            if _is_none(item):
                shape.append(1)
                continue
            if not rest:
                self.fail(node, f"too many indices for {describe(tile)}")
            first, count = self.range_of_tile(item, rest.pop(0))
            start.append(first)
            taken.append(count)
            if isinstance(item, ast.Slice):
                shape.append(count)
        part = self.build(node, "part", tile, start + [0] * len(rest), taken + rest)
        return self.build(node, "reshape", part, shape + rest)

    def range_of_tile(self, item: ast.expr, extent: int) -> tuple[int, int]:
        """The first element that an index of a tile's dimension takes, and how many it takes."""
        if not isinstance(item, ast.Slice):
            index = self.tile_bound(item)
            if index is None or not -extent <= index < extent:
                self.fail(item, f"index {index} of a dimension of {extent} elements")
            return index % extent, 1
        lower, upper, step = (
            None if part is None else self.tile_bound(part)
            for part in (item.lower, item.upper, item.step)
        )
        if step not in (None, 1):
            self.fail(item, "a part of a tile has no step: tw.flip turns it round")
        places = range(extent)[lower:upper]
        if not places:
            self.fail(item, f"this part of a dimension of {extent} elements is empty")
        return places.start, len(places)

    def tile_bound(self, node: ast.expr) -> int | None:
        value = self.evaluate(node)
        if value is not None and (isinstance(value, Value) or not self.is_index(value)):
            self.fail(
                node,
                f"a part of a tile has bounds known at compile time, found {describe(value)}: "
                f"slice the view before loading it",
            )
        return value


def _is_none(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value is None
