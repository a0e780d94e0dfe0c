"""The registry of what a kernel calls as `tw.…`: each function's signature, what it builds."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from tilewire._tilewire import DType, Value
from tilewire.errors import UserError
from tilewire.frontend.spelling import did_you_mean
from tilewire.frontend.values import describe, is_operand

if TYPE_CHECKING:
    from tilewire.frontend.expressions import Expressions

TEAMS = ("world", "lsa", "rail", "local")


class Call:
    """One call in a kernel's body: where it stands, and the way to the Builder."""

    def __init__(self, visitor: Expressions, node: ast.Call, name: str) -> None:
        self.visitor = visitor
        self.node = node
        self.name = name

    @property
    def builder(self) -> Any:
        return self.visitor.builder

    def fail(self, message: str) -> NoReturn:
        self.visitor.fail(self.node, f"`{self.name}`: {message}")

    def build(self, method: str, *args: Any) -> Any:
        return self.visitor.build(self.node, method, *args)

    def dtype(self, value: Any) -> DType:
        return self.visitor.dtype(self.node, value)

    def shape(self, value: Any) -> list[int]:
        """A static shape: an int or a tuple of ints that Python knows."""
        items = value if isinstance(value, tuple) else (value,)
        for each in items:
            if not isinstance(each, int) or isinstance(each, bool):
                self.fail(
                    f"a tile's shape must be known at compile time, found {describe(each)}: make "
                    f"the dimension a tw.const"
                )
            if each < 1:
                self.fail(f"the extents of a tile are above 0 and written out, found {each}")
        return list(items)

    def operand(self, value: Any, what: str) -> Any:
        if not is_operand(value):
            self.fail(f"{what} must be a tile, a scalar or a number, found {describe(value)}")
        return value

    def static_int(self, value: Any, what: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            advice = ": make it a tw.const" if isinstance(value, Value) else ""
            self.fail(
                f"{what} must be an integer known at compile time, found {describe(value)}{advice}"
            )
        return value

    def static_bool(self, value: Any, what: str) -> bool:
        if not isinstance(value, bool):
            self.fail(f"{what} must be True or False, known at compile time: {describe(value)}")
        return value


class Builtin:
    """A function of `tw`. `implementation(call, …)` builds; outside of kernels calls fail."""

    def __init__(self, name: str, implementation: Callable[..., Any], document: str) -> None:
        self.name = name
        self.implementation = implementation
        self.__doc__ = document
        self.__name__ = name
        parameters = list(inspect.signature(implementation).parameters.values())[1:]
        plain = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
        self.__signature__ = inspect.Signature(plain)

    def __repr__(self) -> str:
        return f"tw.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UserError(f"tw.{self.name} can be called only in the body of a @tw.kernel function")

    def lower(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            known = list(self.__signature__.parameters)
            unknown = next((each for each in kwargs if each not in known), "")
            close = did_you_mean(unknown, known) if unknown else ""
            call.fail(f"{error}{close}; it is called as {self.name}{self.__signature__}")
        return self.implementation(call, *args, **kwargs)


BUILTINS: dict[str, Builtin] = {}


def builtin(implementation: Callable[..., Any]) -> Builtin:
    """Registers `tw.<name>`; a trailing underscore of the function's name is dropped."""
    name = implementation.__name__.removesuffix("_")
    BUILTINS[name] = Builtin(name, implementation, implementation.__doc__ or "")
    return BUILTINS[name]
