"""`if`: one side where Python knows the condition, else a branch of the IR that joins both."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.bundles import difference, flatten, leaf_at, parts_of, unflatten
from tilewire.frontend.exits import RESULT
from tilewire.frontend.origins import broadcasts
from tilewire.frontend.values import UNSET, Poison, Scope, describe, is_static
from tilewire.frontend.visitor import Visitor

_MISSING = Poison("")


@dataclass
class Side:
    """What one side of an `if` left behind."""

    scope: Scope
    returned: bool


class Branches(Visitor):
    def run_if(self, node: ast.If) -> None:
        condition = self.evaluate(node.test)
        if is_static(condition):
            self.run(node.body if condition else node.orelse)
            return
        self.require_bool_scalar(node.test, condition)
        before = self.scope
        self.build(node, "begin_if", condition)
        then = self._run_side(lambda: self.run(node.body), before)
        self.build(node, "begin_else")
        other = self._run_side(lambda: self.run(node.orelse), before)
        if then.returned and other.returned:
            self.build(node, "end_if", [], [])
            self.scope = before
            self.returned = True
        elif then.returned or other.returned:
            self._go_on_from(node, before, then if other.returned else other)
        else:
            self._join(node, before, then.scope, other.scope)

    def choose(
        self, node: ast.AST, condition: Any, then: Callable[[], Any], other: Callable[[], Any]
    ) -> Any:
        """The value of one of two expressions, of which only that one is computed."""
        self.build(node, "begin_if", condition)
        a = then()
        self.build(node, "begin_else")
        b = other()
        problem = self._problem(node, "the value", a, b)
        if problem:
            self.fail(node, problem)
        leaves = list(self.build(node, "end_if", flatten(a), flatten(b)))
        return unflatten(a, leaves)

    def _run_side(self, run: Callable[[], None], before: Scope) -> Side:
        self.scope = before.copy()
        run()
        returned, self.returned = self.returned, False
        return Side(self.scope, returned)

    def _go_on_from(self, node: ast.If, before: Scope, side: Side) -> None:
        """Only this side reaches what follows, so that everything is as it left it."""
        outside = {leaf for value in before.names.values() for leaf in _values(value)}
        made = [
            leaf
            for name, value in side.scope.names.items()
            if value is not before.names.get(name, _MISSING)
            for leaf in _values(value)
            if leaf not in outside
        ]
        handed_out = [leaf for leaf in dict.fromkeys(made) if not leaf.type.is_view]
        results = dict(
            zip(handed_out, self.build(node, "end_if", handed_out, handed_out), strict=True)
        )
        views = {leaf for leaf in made if leaf.type.is_view}
        self.scope = Scope()
        for name, value in side.scope.names.items():
            leaves = set(_values(value))
            if leaves & views:
                self.scope.names[name] = Poison(_view_of_a_branch(name, self.source.line(node)))
                continue
            if leaves & set(results):
                replaced = [results.get(leaf, leaf) for leaf in flatten(value)]
                value = unflatten(value, replaced)
                for leaf in flatten(value):
                    self._name(name, leaf)
            self.scope.names[name] = value

    def _join(self, node: ast.If, before: Scope, then: Scope, other: Scope) -> None:
        """What differs between the sides is chosen by the IR's `if`, or can't be used any more."""
        line = self.source.line(node)
        joined: dict[str, Any] = {}
        then_leaves: list[Any] = []
        other_leaves: list[Any] = []
        chosen: dict[str, tuple[Any, list[bool]]] = {}
        for name in dict.fromkeys([*then.names, *other.names]):
            a, b = then.names.get(name, _MISSING), other.names.get(name, _MISSING)
            if a is b:
                joined[name] = a
                continue
            a, b = (b if a is UNSET else a), (a if b is UNSET else b)
            problem = self._poisoned(name, a, b, line) or self._problem(node, f"`{name}`", a, b)
            if problem:
                joined[name] = Poison(_of_result(problem) if name == RESULT else problem)
                continue
            a_leaves = _placeholders(a) if then.names[name] is UNSET else flatten(a)
            b_leaves = _placeholders(b) if other.names[name] is UNSET else flatten(b)
            differs = [not _same(x, y) for x, y in zip(a_leaves, b_leaves, strict=True)]
            then_leaves += [x for x, d in zip(a_leaves, differs, strict=True) if d]
            other_leaves += [y for y, d in zip(b_leaves, differs, strict=True) if d]
            chosen[name] = (a, differs)
            joined[name] = None  # keeps its place
        results = list(self.build(node, "end_if", then_leaves, other_leaves))
        self.scope = Scope(joined)
        for name, (like, differs) in chosen.items():
            leaves = [
                results.pop(0) if d else leaf
                for leaf, d in zip(flatten(like), differs, strict=True)
            ]
            for leaf in leaves:
                self._name(name, leaf)
            self.scope.names[name] = unflatten(like, leaves)

    def _name(self, name: str, leaf: Any) -> None:
        if isinstance(leaf, Value):
            self.builder.name(leaf, name.lstrip("."))

    def _poisoned(self, name: str, a: Any, b: Any, line: int) -> str | None:
        """Why a name that only one side has, or has lost, can't be used afterwards."""
        for side in (a, b):
            if isinstance(side, Poison) and side.message:
                return side.message
        if a is _MISSING or b is _MISSING:
            return (
                f"`{name}` has no value that can be used after the `if` at line {line}: assign a "
                f"tile or scalar before it or in both branches"
            )
        return None

    def _problem(self, node: ast.AST, what: str, a: Any, b: Any) -> str | None:
        """Why two values can't be one of them that a run-time condition chooses."""
        line = self.source.line(node)
        where = f"after one branch of the `if` at line {line} and"
        if not isinstance(node, ast.If):
            where = "or"
        name = what.strip("`")
        place = difference(a, b, name)
        if place is not None:
            x, y = leaf_at(a, place.removeprefix(name)), leaf_at(b, place.removeprefix(name))
            subject = f"`{place}`" if place != name else what
            text = f"{subject} is {describe(x)} {where} {describe(y)}"
            after = " after the other" if isinstance(node, ast.If) else ""
            for each in (x, y):
                if isinstance(each, Value) and each.type.is_view:
                    return (
                        f"{text}{after}: a run-time condition can't choose a view; choose its "
                        f"indices, and slice with them"
                    )
            return f"{text}{after}: a run-time condition chooses only between tiles and scalars"
        for x, y in zip(flatten(a), flatten(b), strict=True):
            both = isinstance(x, Value) and isinstance(y, Value)
            if both and not broadcasts(x, y):
                after = " after the other" if isinstance(node, ast.If) else ""
                return f"{what} is {describe(x)} {where} {describe(y)}{after}: give both one shape"
        return None


def _values(value: Any) -> list[Value]:
    """The IR values in it, views too."""
    parts = parts_of(value)
    if parts is None:
        return [value] if isinstance(value, Value) else []
    return [leaf for each in parts for leaf in _values(each.value)]


def _same(a: Any, b: Any) -> bool:
    """Whether a leaf is the same whichever way the `if` went."""
    if isinstance(a, Value) or isinstance(b, Value):
        return a is b
    return type(a) is type(b) and repr(a) == repr(b)


def _placeholders(value: Any) -> list[Any]:
    """Numbers for what no one reads: the function has not returned yet."""
    numbers: list[Any] = []
    for leaf in flatten(value):
        if not isinstance(leaf, Value):
            numbers.append(leaf)
        elif leaf.type.dtype.name == "bool":
            numbers.append(False)
        else:
            numbers.append(0.0 if leaf.type.dtype.is_float else 0)
    return numbers


def _of_result(problem: str) -> str:
    return problem.replace(f"`{RESULT}", "`the returned value", 1).replace(
        "`the returned value`", "the returned value", 1
    )


def _view_of_a_branch(name: str, line: int) -> str:
    return (
        f"`{name}` is a view that was made in a branch of the `if` at line {line}: slice again "
        f"behind it"
    )
