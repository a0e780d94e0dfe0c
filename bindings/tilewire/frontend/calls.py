"""Calls: `tw.…`, methods of values, and Python functions on what Python knows."""

from __future__ import annotations

import ast
import dataclasses
import types
from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.errors import UserError
from tilewire.frontend.builtins import BUILTINS
from tilewire.frontend.folding import folds, is_structural
from tilewire.frontend.functions import BoundFunction, Function
from tilewire.frontend.inlining import Inlining
from tilewire.frontend.records import make_record
from tilewire.frontend.registry import Builtin, Call
from tilewire.frontend.values import LoopRange, Method, RecordView, describe, is_static
from tilewire.record import Record
from tilewire.types import as_dtype

# Python's functions that mean an op of the table on tiles and scalars.
_ON_VALUES: dict[Any, tuple[str, str]] = {
    abs: ("abs", "abs"),
    min: ("min", "minimum"),
    max: ("max", "maximum"),
    sum: ("sum", "add"),
    any: ("any", "or"),
    all: ("all", "and"),
}
_DTYPES = {int: "tw.i64", float: "tw.f32", bool: "tw.bool"}


def _shape(node: ast.Call) -> str:
    return f"`{ast.unparse(node.args[0])}.shape[0]`"


class Calls(Inlining):
    def evaluate_call(self, node: ast.Call) -> Any:
        callee = self.evaluate(node.func)
        args, kwargs = self.arguments(node)
        name = ast.unparse(node.func)
        if isinstance(callee, Method):
            return self.call_method(node, callee, args, kwargs)
        if isinstance(callee, Function):
            return self.inline(node, callee, args, kwargs)
        if isinstance(callee, BoundFunction):
            return self.inline(node, callee.function, (callee.instance, *args), kwargs)
        if callee is range:
            callee = BUILTINS["range"]
        if isinstance(callee, Builtin):
            return callee.lower(Call(self, node, name), args, kwargs)
        if isinstance(callee, Record):
            return make_record(Call(self, node, name), callee, args, kwargs)
        if isinstance(callee, DType):
            self.fail(node, f"`{name}` is a dtype: convert with `value.to({name})`")
        if hasattr(callee, "signature") and hasattr(callee, "compile"):
            self.fail(
                node,
                f"`{name}` is a kernel, which only the host launches: make what both need a "
                f"@tw.function",
            )
        return self.call_python(node, callee, args, kwargs)

    def call_python(
        self, node: ast.Call, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Python's own functions, at compile time."""
        name = ast.unparse(node.func)
        values = (*args, *kwargs.values())
        if is_structural(callee):
            sequences = [self._sequence(each) for each in args]
            if callee is len and isinstance(args[0] if args else None, Value):
                self.fail(node, f"`len` takes what is known at compile time: use {_shape(node)}")
            self.refuse_run_time_sequences(node, name, sequences)
            return self.fold(node, callee, *sequences, **kwargs)
        if is_static(values) and folds(callee):
            return self.fold(node, callee, *[self._sequence(each) for each in args], **kwargs)
        if not is_static(values) and callee in _ON_VALUES:
            return self.call_on_values(node, callee, args, kwargs)
        if folds(callee):
            advice = "use the function of `tw` for tiles and scalars"
            if isinstance(callee, types.FunctionType):
                advice = "decorate it with @tw.function, so that its statements are put here"
            elif callee is str:
                advice = "there is no text of run-time values; tw.print shows them"
            elif callee in (int, float, bool):
                advice = f"convert with `value.to({_DTYPES[callee]})`"
            self.fail(node, f"`{name}` takes only what is known at compile time: {advice}")
        if callee is print:
            self.fail(node, "`print` can't be called in a kernel: use tw.print")
        self.fail(
            node,
            f"`{name}` can't be called in a kernel: only functions of `tw`, @tw.function, and "
            f"Python's own on constants",
        )

    def refuse_run_time_sequences(self, node: ast.Call, name: str, values: list[Any]) -> None:
        for each in values:
            if isinstance(each, LoopRange):
                self.fail(
                    node,
                    f"`{name}` takes sequences that are known at compile time, and this "
                    f"{describe(each)} is not: loop over it alone, and count in a variable",
                )

    def call_on_values(
        self, node: ast.Call, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """`abs(x)`, `min(a, b)`, `sum((a, b))` of tiles and scalars."""
        name, op = _ON_VALUES[callee]
        if kwargs or not args:
            self.fail(node, f"`{name}` takes tiles and scalars by position")
        if callee is abs:
            return self.build(node, "unary", op, args[0])
        items = args if len(args) > 1 and callee is not sum else args[0]
        if not isinstance(items, tuple) or not items:
            self.fail(
                node,
                f"`{name}` takes several values: over the elements of a tile, use tw.{name}",
            )
        if callee is sum and len(args) > 1:
            items = (args[1], *items)
        result = items[0]
        for each in items[1:]:
            known = is_static(result) and is_static(each)
            fold = {"add": lambda a, b: a + b, "minimum": min, "maximum": max}.get(op)
            if known and fold is not None:
                result = self.fold(node, fold, result, each)
            else:
                result = self.build(node, "binary", op, result, each)
        return result

    def _sequence(self, value: Any) -> Any:
        """`range(…)` of constants as Python's own."""
        if isinstance(value, LoopRange) and value.iterate == "range":
            bounds = (value.lower, value.upper, value.step)
            if is_static(bounds):
                return tuple(range(*bounds))
        return value

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
        if method.name == "multicast":
            return self.call_multicast(node, method, args, kwargs)
        team = kwargs.pop("team", "")
        if len(args) != 1 or kwargs or not isinstance(team, str):
            self.fail(node, "`at` takes one rank and `team=`: `x.at(r)`")
        if team and team not in ("world", "lsa", "rail"):
            self.fail(
                node,
                f"`at`: a rank is counted in the world, lsa or rail, found team={team!r}; this "
                "rank's own copy takes no `.at`",
            )
        if isinstance(method.value, RecordView):
            views = {
                name: self.build(node, "at", view, args[0], team)
                for name, view in method.value.views.items()
            }
            return dataclasses.replace(method.value, views=views)
        if not method.value.type.is_view:
            self.fail(node, f"only windows have `.at(rank)`, found {describe(method.value)}")
        return self.build(node, "at", method.value, args[0], team)

    def call_multicast(
        self, node: ast.Call, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        team = kwargs.pop("team", "world")
        if args or kwargs or not isinstance(team, str):
            self.fail(node, "`multicast` takes nothing but `team=`: `x.multicast()`")
        if isinstance(method.value, RecordView):
            views = {
                name: self.build(node, "multicast", view, team)
                for name, view in method.value.views.items()
            }
            return dataclasses.replace(method.value, views=views)
        if not method.value.type.is_view:
            self.fail(node, f"only windows have `.multicast()`, found {describe(method.value)}")
        return self.build(node, "multicast", method.value, team)

    def dtype(self, node: ast.AST, value: Any) -> DType:
        try:
            return as_dtype(value)
        except UserError as error:
            self.fail(node, error.message)
