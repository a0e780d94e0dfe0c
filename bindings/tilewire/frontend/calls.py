"""Calls: `tw.…`, methods of values, and Python functions on what Python knows."""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import DType
from tilewire.errors import UserError
from tilewire.frontend.builtins import BUILTINS
from tilewire.frontend.registry import Builtin, Call
from tilewire.frontend.values import Method, describe, folds, is_static
from tilewire.frontend.visitor import Visitor
from tilewire.types import as_dtype


class Calls(Visitor):
    def evaluate_call(self, node: ast.Call) -> Any:
        callee = self.evaluate(node.func)
        args, kwargs = self.arguments(node)
        name = ast.unparse(node.func)
        if isinstance(callee, Method):
            return self.call_method(node, callee, args, kwargs)
        if callee is range:
            callee = BUILTINS["range"]
        if isinstance(callee, Builtin):
            return callee.lower(Call(self, node, name), args, kwargs)
        if isinstance(callee, DType):
            self.fail(node, f"`{name}` is a dtype: convert with `value.to({name})`")
        if folds(callee):
            if is_static(args) and is_static(tuple(kwargs.values())):
                return self.fold(node, callee, *args, **kwargs)
            self.fail(
                node,
                f"`{name}` takes only what is known at compile time: use the function of `tw` for "
                f"tiles and scalars",
            )
        self.fail(
            node,
            f"`{name}` can't be called in a kernel: only functions of `tw`, and Python's own "
            f"arithmetic on constants",
        )

    def arguments(self, node: ast.Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for each in node.args:
            if isinstance(each, ast.Starred):
                self.unsupported(each)
        args = tuple(self.evaluate(each) for each in node.args)
        kwargs = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.fail(keyword.value, "`**` can't be used in a kernel: write the names")
            kwargs[keyword.arg] = self.evaluate(keyword.value)
        return args, kwargs

    def call_method(
        self, node: ast.Call, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if method.name == "to":
            if len(args) != 1 or kwargs:
                self.fail(node, "`to` takes one dtype: `x.to(tw.f32)`")
            return self.build(node, "cast", method.value, self.dtype(node, args[0]))
        team = kwargs.pop("team", "")
        if len(args) != 1 or kwargs or not isinstance(team, str):
            self.fail(node, "`at` takes one rank and `team=`: `x.at(r)`")
        if not method.value.type.is_view:
            self.fail(node, f"only windows have `.at(rank)`, found {describe(method.value)}")
        return self.build(node, "at", method.value, args[0], team)

    def dtype(self, node: ast.AST, value: Any) -> DType:
        try:
            return as_dtype(value)
        except UserError as error:
            self.fail(node, error.message)
