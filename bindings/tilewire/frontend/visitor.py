"""Walks a kernel's syntax tree and calls the Builder, which holds the rules of the language."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from tilewire._tilewire import Builder, DType, Target, Value
from tilewire.errors import UserError
from tilewire.frontend.origins import Origins
from tilewire.frontend.source import Source
from tilewire.frontend.spelling import did_you_mean
from tilewire.frontend.unsupported import message_for
from tilewire.frontend.values import Poison, Scope, describe, flatten, is_operand
from tilewire.record import Record

if TYPE_CHECKING:
    from tilewire.frontend.functions import Function

# Methods of the Builder whose first argument says which op; the others are the user's.
_NAMED_OPS = ("unary", "binary", "reduce", "arg_reduce", "scan", "begin_for", "begin_for_team")


class Visitor:
    """State and services that statements and expressions share."""

    def __init__(
        self, builder: Builder, source: Source, target: Target, globals_: dict[str, Any]
    ) -> None:
        self.builder = builder
        self.source = source
        self.target = target
        self.globals = globals_  # of the function that is walked, its closure included
        self.scope = Scope()
        self.calls: list[
            Function
        ] = []  # the `@tw.function`s that are being walked, outermost first
        self.returned = False  # the statements that follow can't be reached
        self.repetitions = 1  # how often the unrolled loops around have this walked
        self.origins = Origins()
        self.records_of_channels: dict[str, Record] = {}  # parameter → what its messages are

    # What the parts (expressions, statements, …) call of each other.

    def evaluate(self, node: ast.expr) -> Any:
        """The Python value or IR value of an expression."""
        raise NotImplementedError

    def run(self, statements: list[ast.stmt]) -> None:
        """Walks a block."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Binds the names of an assignment's or loop's target."""
        raise NotImplementedError

    def fold(self, node: ast.AST, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Computes with Python what Python knows."""
        raise NotImplementedError

    def resolve(self, found: Any) -> Any:
        """A value of Python as kernels see it."""
        raise NotImplementedError

    def require_bool_scalar(self, node: ast.AST, condition: Any, what: str = "if") -> None:
        """UserError where the condition can't decide which way all threads go."""
        raise NotImplementedError

    def fail(self, node: ast.AST, message: str, notes: tuple[str, ...] = ()) -> NoReturn:
        self.source.fail(node, message, notes)

    def unsupported(self, node: ast.AST, at: ast.AST | None = None) -> NoReturn:
        """`at`: where it stands; operators have no position of their own."""
        self.fail(at or node, message_for(node))

    def build(self, node: ast.AST, method: str, *args: Any) -> Any:
        """Calls a method of the Builder for `node`: its errors are at the user's line.

        `args` that the method can't take (a Python value where a tile is needed) are the user's
        error too.
        """
        place = (self.source.file, self.source.line(node), self.source.column(node))
        self.builder.set_location(*place)
        function = getattr(self.builder, method)
        args = tuple(self.wide_literal(each) for each in args)
        if method in _NAMED_OPS:
            function, args = functools.partial(function, args[0]), args[1:]
        result = self.checked(node, function, *args)
        self.origins.note(result, self.source, node)
        return result

    def wide_literal(self, value: Any) -> Any:
        """An integer that only u64 holds is a value of u64; anything else is itself."""
        if not isinstance(value, int) or not 2**63 <= value < 2**64:
            return value
        return self.builder.bitcast(self.builder.constant(value - 2**64, DType.i64), DType.u64)

    def checked(self, node: ast.AST, function: Callable[..., Any], *args: Any) -> Any:
        """Calls into C++ for `node`; what it refuses is the user's error at `node`."""
        try:
            return function(*args)
        except TypeError:
            self.refuse_operands(node, args)
        except UserError as error:
            place = (error.file, error.line, error.column)
            if place == (self.source.file, self.source.line(node), self.source.column(node)):
                self.fail(node, error.message, self.origins.of_shapes(args))
            raise

    def refuse_operands(self, node: ast.AST, args: tuple[Any, ...]) -> NoReturn:
        """UserError for a call that takes no such operands."""
        for each in flatten(args):
            if isinstance(each, int) and not -(2**63) <= each < 2**63:
                self.fail(node, f"{each} doesn't fit 64 bits: no integer of a kernel is larger")
        if isinstance(node, ast.For):
            bad = next((each for each in args[:3] if not is_operand(each)), None)
            self.fail(node.iter, f"a loop's bounds and step are integers, found {describe(bad)}")
        found = ", ".join(describe(each) for each in args)
        self.fail(node, f"`{ast.unparse(node)}` can't be computed from {found}")

    def lookup(self, node: ast.Name) -> Any:
        """What a name stands for: local, parameter or dimension, global, Python's builtin."""
        for names in (self.scope.names, self.globals, vars(builtins)):
            if node.id in names:
                found = names[node.id]
                if isinstance(found, Poison):
                    self.fail(node, found.message)
                return found
        known = [*self.scope.names, *self.globals]
        self.fail(node, f"name `{node.id}` is not defined{did_you_mean(node.id, known)}")

    def bind(self, name: str, value: Any) -> None:
        """Assigns `name`; the user's name becomes the IR's."""
        if isinstance(value, Value):
            self.builder.name(value, name.lstrip("."))
        self.scope.names[name] = value
