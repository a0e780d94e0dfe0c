"""Statements: assignment, `assert`, `return`. Branches and loops have files of their own."""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.exits import RESULT, RETURNED, SKIP, STOP
from tilewire.frontend.expressions import Expressions
from tilewire.frontend.loops import Loops
from tilewire.frontend.values import Instances, Poison, Task, describe, is_static


class Known(ast.expr):
    """An expression that was evaluated before."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


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

    def run_with(self, node: ast.With) -> None:
        """`with tw.instances(…)`: an `if` in which ids are the group's. `with tw.task():` a block
        of which no value comes out."""
        first, rest = node.items[0], node.items[1:]
        group = self.evaluate(first.context_expr)
        if not isinstance(group, Instances | Task) or first.optional_vars:
            self.fail(
                node, "`with` takes `tw.instances(first, count)` or `tw.task()`, and nothing else"
            )
        body = [ast.copy_location(ast.With(rest, node.body), node)] if rest else node.body
        if isinstance(group, Task):
            self._run_task(node, body)
            return
        is_one = self.build(node, "enter_instances", group.first, group.count)
        branch = ast.If(test=Known(is_one), body=body, orelse=[])
        for made in (branch, branch.test):
            ast.copy_location(made, node)
        self.run([branch])
        self.build(node, "leave_instances")

    def _run_task(self, node: ast.With, body: list[ast.stmt]) -> None:
        before = self.scope
        self.scope = before.copy()
        self.build(node, "begin_task")
        self.run(body)
        if self.returned:
            self.fail(node, "a task can't `return`: put what it does under an `if`")
        self.build(node, "end_task")
        line = self.source.line(node)
        inside, self.scope = self.scope, before
        for name, value in inside.names.items():
            if value is before.names.get(name):
                continue
            if name in (STOP, SKIP, RESULT, RETURNED):
                self.fail(
                    node,
                    "a task can't leave a loop or function around it: end it by the branches that "
                    "stand in it",
                )
            before.names[name] = Poison(
                f"`{name}` was assigned in the task at line {line}, which runs beside what is "
                f"behind it: compute it again, or hand it over through memory and a flag"
            )

    def evaluate_known(self, node: Known) -> Any:
        return node.value

    def run_assert(self, node: ast.Assert) -> None:
        test = self.evaluate(node.test)
        if not is_static(test):
            self.fail(
                node,
                "assert can test only what is known at compile time: use "
                "tw.assert_(condition, message)",
            )
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
            advice = ": read its elements, like `t[0]`" if isinstance(value, Value) else ""
            self.fail(target, f"{describe(value)} can't be taken apart into names{advice}")
        if len(target.elts) != len(value):
            self.fail(target, f"{len(target.elts)} names for {len(value)} values")
        for each, item in zip(target.elts, value, strict=True):
            self.assign(each, item)

    def refuse_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            self.fail(target, "elements can't be assigned: use `tw.store(view[…], value)`")
        if isinstance(target, ast.Attribute):
            owner = ast.unparse(target.value)
            self.fail(
                target,
                f"attributes can't be assigned in a kernel: make a new object, like "
                f"`{owner} = dataclasses.replace({owner}, {target.attr}=…)`",
            )
        self.unsupported(target)

    def run_return(self, node: ast.Return) -> None:
        """Of a kernel: in a `@tw.function` it became an assignment before the walk."""
        if node.value is not None and not (
            isinstance(node.value, ast.Constant) and node.value.value is None
        ):
            self.fail(node, "a kernel returns nothing: store results with `tw.store`")
        self.build(node, "return_")
        self.returned = True
