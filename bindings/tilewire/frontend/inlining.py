"""Calls of `@tw.function`s: the statements of the function, in a scope of their own."""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import Builder, Value
from tilewire.errors import UserError, excerpt
from tilewire.frontend.bundles import flatten, unflatten
from tilewire.frontend.exits import RESULT
from tilewire.frontend.functions import Function
from tilewire.frontend.values import UNSET, Poison, Scope, is_static
from tilewire.frontend.visitor import Visitor


class Inlining(Visitor):
    seen_results: list[Any] | None = None  # what RESULT was assigned, while someone wants to know

    def inline(
        self, node: ast.Call, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the function returns for these arguments."""
        self.refuse_recursion(node, function)
        bound = self.bind_arguments(node, function, args, kwargs)
        before = UNSET if function.returns_value else None
        if function.returns_value and function.returns_in_loops:
            before = self.placeholder(node, self.returned_kind(node, function, bound))
        return self.walk(node, function, bound, before)

    def walk(
        self,
        node: ast.Call,
        function: Function,
        bound: dict[str, Any],
        before: Any,
        seen: list[Any] | None = None,
    ) -> Any:
        """The function's statements. `before`: what it returns until it does; `seen` gains what its
        `return`s give."""
        outside = (self.source, self.scope, self.globals, self.returned, self.seen_results)
        self.seen_results = seen
        self.calls.append(function)
        self.source, self.globals, self.returned = function.source, function.globals, False
        self.scope = Scope()
        try:
            for name, value in bound.items():
                self.bind(name, self.resolve(value))
            self.scope.names[RESULT] = before
            self.run(function.body)
            result = self.scope.names[RESULT]
        except UserError as error:
            raise error.with_note(self.called_from(node, outside[0])) from None
        finally:
            self.source, self.scope, self.globals, self.returned, self.seen_results = outside
            self.calls.pop()
        if isinstance(result, Poison):
            self.fail(node, result.message)
        return result

    def returned_kind(self, node: ast.Call, function: Function, bound: dict[str, Any]) -> Any:
        """Something of the type that the function returns: a loop that contains a `return` carries
        it. Found by walking the function for a program that is thrown away."""
        seen: list[Any] = []
        builder = self.builder
        self.builder = Builder(function.name, self.source.file, self.target)
        try:
            self.walk(node, function, bound, UNSET, seen)
        except UserError:
            pass  # it comes again, from the walk that counts
        finally:
            self.builder = builder
        of_run_time = [each for each in seen if not is_static(each)]
        return next(iter([*of_run_time, *seen]), UNSET)

    def placeholder(self, node: ast.AST, kind: Any) -> Any:
        """A value of that type that no one reads."""
        leaves: list[Any] = []
        for leaf in flatten(kind):
            if not isinstance(leaf, Value):
                leaves.append(type(leaf)(0))
            elif leaf.type.is_tile:
                leaves.append(self.build(node, "zeros", leaf.type.shape, leaf.type.dtype))
            else:
                leaves.append(self.build(node, "constant", 0, leaf.type.dtype))
        return unflatten(kind, leaves)

    def bind(self, name: str, value: Any) -> None:
        if name == RESULT and self.seen_results is not None:
            self.seen_results.append(value)
        super().bind(name, value)

    def bind_arguments(
        self, node: ast.Call, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            bound = function.signature.bind(*args, **kwargs)
        except TypeError as error:
            self.fail(
                node,
                f"`{function.name}`: {error}; it is called as {function.name}{function.signature}",
            )
        bound.apply_defaults()
        return dict(bound.arguments)

    def refuse_recursion(self, node: ast.Call, function: Function) -> None:
        if function not in self.calls:
            return
        names = [each.name for each in self.calls[self.calls.index(function) :]]
        cycle = " → ".join([*names, function.name])
        self.fail(
            node,
            f"`{function.name}` calls itself ({cycle}): calls are put in place, so a recursion has "
            f"no end; write a loop",
        )

    def called_from(self, node: ast.Call, source: Any) -> str:
        line, column, end = source.line(node), source.column(node), source.end_column(node)
        return f"  called from {source.file}:{line}{excerpt(source.file, line, column, end)}"
