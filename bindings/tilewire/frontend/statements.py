"""Statements: assignment, `if`, `return`. Loops are in loops.py."""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.assigned import assigned_names, surely_assigned_names
from tilewire.frontend.expressions import Expressions
from tilewire.frontend.loops import Loops
from tilewire.frontend.values import (
    Poison,
    Scope,
    describe,
    flatten,
    is_carriable,
    is_static,
    same_structure,
    unflatten,
)


class Statements(Loops, Expressions):
    """One method per kind of statement."""

    def run(self, statements: list[ast.stmt]) -> None:
        """Walks a block; what follows a `return` is not looked at."""
        for statement in statements:
            if self.returned:
                return
            method = getattr(self, f"run_{type(statement).__name__.lower()}", None)
            if method is None:
                self.unsupported(statement)
            method(statement)

    def run_pass(self, _node: ast.Pass) -> None:
        pass

    def run_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring, or `...`
            return
        self.evaluate(node.value)

    def run_assert(self, node: ast.Assert) -> None:
        test = self.evaluate(node.test)
        if not is_static(test):
            self.fail(node, "assert can test only what is known at compile time: remove it")
        if not test:
            text = self.evaluate(node.msg) if node.msg is not None else ast.unparse(node.test)
            self.fail(node, f"assertion failed: {text}")

    def run_assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def run_augassign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.refuse_target(node.target)
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        left = self.evaluate(name)
        right = self.evaluate(node.value)
        self.bind(node.target.id, self.apply_binary(node, node.op, left, right))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
            return
        if not isinstance(target, ast.Tuple | ast.List):
            self.refuse_target(target)
        if not isinstance(value, tuple | list):
            self.fail(target, f"{describe(value)} can't be taken apart into names")
        if len(target.elts) != len(value):
            self.fail(target, f"{len(target.elts)} names for {len(value)} values")
        for each, item in zip(target.elts, value, strict=True):
            self.assign(each, item)

    def refuse_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            self.fail(target, "elements can't be assigned: use `tw.store(view[…], value)`")
        if isinstance(target, ast.Attribute):
            self.fail(target, "attributes can't be assigned in a kernel: use a name")
        self.unsupported(target)

    def run_return(self, node: ast.Return) -> None:
        if node.value is not None and not (
            isinstance(node.value, ast.Constant) and node.value.value is None
        ):
            self.fail(node, "a kernel returns nothing: store results with `tw.store`")
        if self.loop_depth > 0:
            self.fail(node, "`return` in a loop can't be used in a kernel: guard with `if`")
        self.build(node, "return_")
        self.returned = True

    def run_if(self, node: ast.If) -> None:
        condition = self.evaluate(node.test)
        if is_static(condition):
            self.run(node.body if condition else node.orelse)
            return
        self.require_bool_scalar(node.test, condition)
        before = self.scope
        merged = self._merged_names(node)
        self.build(node, "begin_if", condition)
        then_scope, then_returned = self._run_branch(node.body, before)
        merged = [name for name in merged if self._is_mergeable(then_scope, name)]
        then_values = [then_scope.names[name] for name in merged]
        self.build(node, "begin_else")
        else_scope, else_returned = self._run_branch(node.orelse, before)
        else_values = [else_scope.names[name] for name in merged]
        for name, a, b in zip(merged, then_values, else_values, strict=True):
            if not is_carriable(b) or not same_structure(a, b):
                self.fail(
                    node,
                    f"`{name}` is {describe(a)} after one branch of this `if` and {describe(b)} "
                    f"after the other",
                )
        leaves = (flatten(tuple(then_values)), flatten(tuple(else_values)))
        results = list(self.build(node, "end_if", *leaves))
        self.scope = before
        self._leave_if(node, merged, then_values, results)
        self.returned = then_returned and else_returned

    def require_bool_scalar(self, node: ast.expr, condition: Any) -> None:
        if isinstance(condition, Value) and condition.type.is_tile:
            self.fail(node, f"`if` needs a scalar, found {describe(condition)}: use tw.where")
        if not isinstance(condition, Value) or not condition.type.is_scalar:
            self.fail(node, f"`if` needs a bool scalar, found {describe(condition)}")

    def _run_branch(self, body: list[ast.stmt], before: Scope) -> tuple[Scope, bool]:
        self.scope = before.copy()
        self.run(body)
        returned, self.returned = self.returned, False
        return self.scope, returned

    def _merged_names(self, node: ast.If) -> list[str]:
        """Names that have a value after the `if` whichever way it went, and may differ by it."""
        assigned = assigned_names(node.body + node.orelse)
        in_both = surely_assigned_names(node.body) & surely_assigned_names(node.orelse)
        return [
            name
            for name in assigned
            if is_carriable(self.scope.names.get(name, Poison(""))) or name in in_both
        ]

    def _is_mergeable(self, scope: Scope, name: str) -> bool:
        return is_carriable(scope.names.get(name, Poison("")))

    def _leave_if(
        self, node: ast.If, merged: list[str], like: list[Any], results: list[Value]
    ) -> None:
        for name, value in zip(merged, like, strict=True):
            joined = unflatten(value, results)
            for leaf in flatten(joined):
                self.builder.name(leaf, name)
            self.scope.names[name] = joined
        line = self.source.line(node)
        for name in assigned_names(node.body + node.orelse):
            if name not in merged:
                self.scope.names[name] = Poison(
                    f"`{name}` has no value that can be used after the `if` at line {line}: "
                    f"assign a tile or scalar before it or in both branches"
                )
