"""`@tw.function`: a Python function whose statements are put where a kernel calls it."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any, overload

from tilewire.errors import UserError
from tilewire.frontend.exits import function_body, returns_in_loops, surely_exits
from tilewire.frontend.source import Source, visible_names


class Function:
    """What `@tw.function` makes of a function. Only kernels and other functions call it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.source = Source.of(function, "@tw.function")
        functools.update_wrapper(self, function)
        self.function = function
        self.name = function.__name__
        self.signature = inspect.signature(function)
        check_parameters(self.source)
        self.body = function_body(self.source.function.body)
        self.returns_value = any(
            isinstance(node, ast.Return) and node.value is not None
            for node in _own_nodes(self.source.function)
        )
        self.returns_in_loops = returns_in_loops(self.source.function.body)
        if self.returns_value and not surely_exits(self.source.function.body):
            self.source.fail(
                self.source.function,
                f"`{self.name}` returns a value on some paths and reaches its end on others: end "
                f"it with a `return`",
            )

    def __repr__(self) -> str:
        return f"<tilewire function {self.name}>"

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        raise UserError(
            f"{self.name} is a @tw.function: it can be called only in the body of a @tw.kernel "
            f"function or another @tw.function"
        )

    @overload
    def __get__(self, instance: None, owner: type) -> Function: ...
    @overload
    def __get__(self, instance: object, owner: type) -> BoundFunction: ...
    def __get__(self, instance: object | None, owner: type) -> Function | BoundFunction:
        return self if instance is None else BoundFunction(self, instance)

    @functools.cached_property
    def globals(self) -> dict[str, Any]:
        """What its body sees from outside."""
        return visible_names(self.function)


class BoundFunction:
    """A method that is a `@tw.function`, with its object."""

    def __init__(self, function: Function, instance: object) -> None:
        self.function = function
        self.instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def function(function: Callable[..., Any]) -> Function:
    """Decorator: lets kernels call the function, whose statements are put into them.

    Tiles, scalars, views and constants go in, by position, by name or by default; any of these come
    out, or a tuple. It may return early.
    """
    return Function(function)


def check_parameters(source: Source) -> None:
    """UserError for star parameters, and for defaults that could change between calls."""
    nodes = source.function.args
    for star, text in ((nodes.vararg, "*"), (nodes.kwarg, "**")):
        if star is not None:
            source.fail(star, f"star-parameter `{text}{star.arg}`: name each parameter")
    positional = [*nodes.posonlyargs, *nodes.args]
    with_defaults = [
        *zip(positional[len(positional) - len(nodes.defaults) :], nodes.defaults, strict=True),
        *zip(nodes.kwonlyargs, nodes.kw_defaults, strict=True),
    ]
    for parameter, default in with_defaults:
        if isinstance(default, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp):
            instead = "a tuple" if isinstance(default, ast.List | ast.ListComp) else "None"
            source.fail(
                default,
                f"the default of `{parameter.arg}` is mutable, so that all calls would share it: "
                f"write {instead}",
            )


def _own_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes of a function's body, without those of functions inside it."""
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        found += [child, *_own_nodes(child)]
    return found
