"""Comprehensions over what Python knows: their items may be tiles and scalars."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tilewire.frontend.bundles import parts_of
from tilewire.frontend.values import LoopRange, Unroll, describe, is_static
from tilewire.frontend.visitor import Visitor


class Comprehensions(Visitor):
    def evaluate_listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> tuple[Any, ...]:
        items: list[Any] = []
        self._comprehend(node.generators, lambda: items.append(self.evaluate(node.elt)))
        return tuple(items)

    evaluate_generatorexp = evaluate_listcomp

    def evaluate_dictcomp(self, node: ast.DictComp) -> dict[Any, Any]:
        items: dict[Any, Any] = {}

        def add() -> None:
            key = self.constant_part(node.key, "key")
            items[key] = self.constant_part(node.value, "value")

        self._comprehend(node.generators, add)
        return items

    def evaluate_dict(self, node: ast.Dict) -> dict[Any, Any]:
        items = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.fail(value, "`**` can't be used in a kernel: write the names")
            items[self.constant_part(key, "key")] = self.constant_part(value, "value")
        return items

    def constant_part(self, node: ast.expr, what: str) -> Any:
        value = self.evaluate(node)
        if not is_static(value):
            self.fail(
                node,
                f"a dict holds constants, and this {what} is {describe(value)}: use a dataclass, a "
                f"NamedTuple or a tuple for tiles and scalars",
            )
        return value

    def items_of(self, node: ast.expr, value: Any) -> tuple[Any, ...]:
        """What iterating over a compile-time sequence gives."""
        if isinstance(value, Unroll):
            return value.items
        if isinstance(value, LoopRange):
            bounds = (value.lower, value.upper, value.step)
            if value.iterate == "range" and is_static(bounds):
                return tuple(range(*bounds))
        elif isinstance(value, str) or (parts_of(value) is not None and hasattr(value, "__iter__")):
            return tuple(value)
        self.fail(
            node,
            f"{describe(value)} can't be iterated over at compile time: use a tuple, or a `for` "
            f"over range(…) with tw.store",
        )

    def _comprehend(self, generators: list[ast.comprehension], add: Callable[[], Any]) -> None:
        outside = self.scope
        self.scope = outside.copy()
        self._nest(generators, add)
        self.scope = outside

    def _nest(self, generators: list[ast.comprehension], add: Callable[[], Any]) -> None:
        if not generators:
            add()
            return
        first, *rest = generators
        for item in self.items_of(first.iter, self.evaluate(first.iter)):
            self.assign(first.target, item)
            if all(self._holds(test) for test in first.ifs):
                self._nest(rest, add)

    def _holds(self, test: ast.expr) -> bool:
        value = self.evaluate(test)
        if not is_static(value):
            self.fail(
                test,
                f"a comprehension's `if` must be known at compile time, found {describe(value)}: "
                f"use tw.where",
            )
        return bool(value)
