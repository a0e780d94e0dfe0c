"""Expressions: what Python knows is folded, the rest is built."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.calls import Calls
from tilewire.frontend.comprehensions import Comprehensions
from tilewire.frontend.conditions import Conditions
from tilewire.frontend.folding import folded
from tilewire.frontend.registry import BUILTINS
from tilewire.frontend.spelling import ELSEWHERE, did_you_mean
from tilewire.frontend.subscripts import Subscripts
from tilewire.frontend.values import (
    Method,
    RecordValue,
    RecordView,
    TargetPlaceholder,
    WorkItem,
    describe,
    is_static,
)


def instead_of(base: Any, name: str) -> str:
    """What may be meant by an attribute that `base` hasn't got; or nothing."""
    if isinstance(base, WorkItem):
        has = f"; it has {', '.join(base.fields)}"
        if name in ("k", "k_part"):
            has += ", and k and k_part where tw.tiles(…, k=, block_k=, split_k=) made it"
        return has
    if base is sys.modules["tilewire"] and name in ELSEWHERE:
        return f": write {ELSEWHERE[name]}"
    return did_you_mean(name, dir(base))


class Expressions(Subscripts, Calls, Comprehensions, Conditions):
    """One method per kind of expression; each returns a Python value or an IR value."""

    def evaluate(self, node: ast.expr) -> Any:
        method = getattr(self, f"evaluate_{type(node).__name__.lower()}", None)
        if method is None:
            self.unsupported(node)
        return method(node)

    def evaluate_constant(self, node: ast.Constant) -> Any:
        return node.value

    def evaluate_name(self, node: ast.Name) -> Any:
        return self.fold(node, self.resolve, self.lookup(node))

    def evaluate_tuple(self, node: ast.Tuple) -> Any:
        return self.items_of_display(node.elts)

    def evaluate_list(self, node: ast.List) -> Any:
        return self.items_of_display(node.elts)

    def items_of_display(self, nodes: list[ast.expr]) -> tuple[Any, ...]:
        """`(a, *rest)`: what is unpacked is a compile-time sequence."""
        items: list[Any] = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                items += self.items_of(each.value, self.evaluate(each.value))
            else:
                items.append(self.evaluate(each))
        return tuple(items)

    def resolve(self, found: Any) -> Any:
        """`tw.target` is the target that is compiled for, a list a tuple: neither changes."""
        if isinstance(found, TargetPlaceholder):
            return self.target
        return folded(found)

    def evaluate_attribute(self, node: ast.Attribute) -> Any:
        base = self.evaluate(node.value)
        if isinstance(base, Value):
            return self.value_attribute(node, base)
        if isinstance(base, RecordView | RecordValue):
            return self.record_attribute(node, base)
        try:
            return self.resolve(getattr(base, node.attr))
        except Exception as error:
            if not isinstance(error, AttributeError):  # of the user's property or __getattr__
                self.fail(node, f"`{ast.unparse(node)}`: {error}")
            if isinstance(base, tuple | dict) and node.attr in ("append", "extend", "update"):
                self.fail(
                    node,
                    f"a list or dict doesn't change in a kernel: make a new one, like "
                    f"`{ast.unparse(node.value)} + (item,)`",
                )
            close = instead_of(base, node.attr)
            # Dtypes, the target and others say more than that the name is missing.
            own = str(error) if str(error).startswith("tw.") else ""
            self.fail(
                node,
                own or f"`{ast.unparse(node.value)}` has no attribute `{node.attr}`{close}",
            )

    def value_attribute(self, node: ast.Attribute, base: Value) -> Any:
        if node.attr == "dtype":
            return base.type.dtype
        if node.attr == "shape":
            return tuple(self.extent(node, base, axis) for axis in range(base.type.rank))
        if node.attr == "T" and base.type.is_tile:
            return self.build(node, "transpose", base)
        if node.attr == "T" and base.type.is_view:
            return self.build(node, "permute", base)
        if node.attr in ("to", "at", "multicast"):
            return Method(base, node.attr)
        instead = did_you_mean(node.attr, ["dtype", "shape", "to", "at", "multicast"])
        if node.attr == "astype":
            instead = ": convert with `.to(tw.f32)`"
        elif node.attr in BUILTINS:
            instead = f": call `tw.{node.attr}(x)`"
        self.fail(node, f"{describe(base)} has no attribute `{node.attr}`{instead}")

    def record_attribute(self, node: ast.Attribute, base: RecordView | RecordValue) -> Any:
        fields = base.views if isinstance(base, RecordView) else base.values
        if node.attr in fields:
            return fields[node.attr]
        if isinstance(base, RecordView) and node.attr in ("at", "multicast"):
            return Method(base, node.attr)
        if isinstance(base, RecordView) and node.attr == "shape":
            first = next(iter(fields.values()))
            return tuple(self.extent(node, first, axis) for axis in range(base.rank))
        self.fail(node, f"{describe(base)} has no field `{node.attr}`")

    def evaluate_joinedstr(self, node: ast.JoinedStr) -> str:
        """Text that is known at compile time, as for the message of an assert."""
        parts = []
        for each in node.values:
            if isinstance(each, ast.Constant):
                parts.append(str(each.value))
            elif isinstance(each, ast.FormattedValue):
                parts.append(self.formatted(each))
        return "".join(parts)

    def formatted(self, node: ast.FormattedValue) -> str:
        value = self.evaluate(node.value)
        if not is_static(value):
            self.fail(
                node.value,
                f"an f-string shows what is known at compile time, and this is {describe(value)}: "
                f"print it with tw.print",
            )
        specification = "" if node.format_spec is None else self.evaluate(node.format_spec)
        convert = {-1: lambda x: x, ord("s"): str, ord("r"): repr, ord("a"): ascii}
        shown = convert[node.conversion](value)
        return self.fold(node, format, shown, specification)

    def fold(self, node: ast.AST, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Computes with Python what Python knows; its errors are the user's."""
        try:
            return folded(function(*args, **kwargs))
        except Exception as error:
            self.fail(node, f"`{ast.unparse(node)}`: {error}")
