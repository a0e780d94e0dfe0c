"""Calls of `@tw.function`s: the statements of the function, in a scope of their own."""

from __future__ import annotations

import ast
from typing import Any

from tilewire.errors import UserError, excerpt
from tilewire.frontend.exits import RESULT
from tilewire.frontend.functions import Function
from tilewire.frontend.values import UNSET, Poison, Scope
from tilewire.frontend.visitor import Visitor


class Inlining(Visitor):
    def inline(
        self, node: ast.Call, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the function returns for these arguments."""
        self.refuse_recursion(node, function)
        bound = self.bind_arguments(node, function, args, kwargs)
        outside = (self.source, self.scope, self.globals, self.returned)
        self.calls.append(function)
        self.source, self.globals, self.returned = function.source, function.globals, False
        self.scope = Scope()
        try:
            for name, value in bound.items():
                self.bind(name, self.resolve(value))
            self.scope.names[RESULT] = UNSET if function.returns_value else None
            self.run(function.body)
            result = self.scope.names[RESULT]
        except UserError as error:
            raise error.with_note(self.called_from(node, outside[0])) from None
        finally:
            self.source, self.scope, self.globals, self.returned = outside
            self.calls.pop()
        if isinstance(result, Poison):
            self.fail(node, result.message)
        return result

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
