"""Where values were made, for messages about two of them that don't go together."""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import Value
from tilewire.errors import excerpt
from tilewire.frontend.source import Source


class Origins:
    """Value → the expression that made it. Holds the values, so that they stay who they are."""

    def __init__(self) -> None:
        self._places: dict[Value, tuple[Source, ast.AST]] = {}

    def note(self, made: Any, source: Source, node: ast.AST) -> None:
        """What `node` made; what is known already keeps its place."""
        for value in made if isinstance(made, list | tuple) else [made]:
            if isinstance(value, list):
                self.note(value, source, node)
            elif isinstance(value, Value):
                self._places.setdefault(value, (source, node))

    def of_shapes(self, operands: tuple[Any, ...]) -> tuple[str, ...]:
        """A note for each operand, where two of them are tiles whose shapes don't broadcast."""
        tiles = [each for each in operands if isinstance(each, Value) and each.type.is_tile]
        if not any(not broadcasts(a, b) for a in tiles for b in tiles):
            return ()
        return tuple(dict.fromkeys(self._of(each) for each in tiles))

    def _of(self, value: Value) -> str:
        name = f"`{value.name}`" if value.name else "an operand"
        text = f"  {name} is {value.type}"
        if value not in self._places:
            return text
        source, node = self._places[value]
        line, column = source.line(node), source.column(node)
        shown = excerpt(source.file, line, column, source.end_column(node))
        return f"{text}, made at {source.file}:{line}{shown}"


def broadcasts(a: Value, b: Value) -> bool:
    """Whether the shapes of two tiles go together."""
    pairs = zip(reversed(a.type.shape), reversed(b.type.shape), strict=False)
    return all(x == y or 1 in (x, y) for x, y in pairs)
