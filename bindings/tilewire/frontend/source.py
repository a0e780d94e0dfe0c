"""The syntax tree of a kernel, with the positions of the user's file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from tilewire.errors import UserError


def visible_names(function: Callable[..., Any]) -> dict[str, Any]:
    """What the function's body sees from outside: its module's names, and those around it."""
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names


@dataclass
class Source:
    """One function of the user's program."""

    file: str
    function: ast.FunctionDef
    lines: list[str]  # dedented, as parsed
    first_line: int  # of the file, where `lines` starts
    indent: int  # columns that dedenting took away

    @classmethod
    def of(cls, function: Callable[..., Any], decorator: str = "@tw.kernel") -> Source:
        """Parses `function`; UserError where Python has no source text of it."""
        if not inspect.isfunction(function):
            raise UserError(f"{decorator} takes a plain function (`def`), found {function!r}")
        try:
            file = inspect.getsourcefile(function) or "<unknown>"
            lines, first_line = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            raise UserError(
                f"{decorator} reads the source text of `{function.__name__}`, and Python has none "
                f"({error}): put it into a file"
            ) from None
        text = "".join(lines)
        dedented = textwrap.dedent(text)
        indent = len(lines[0]) - len(lines[0].lstrip())
        try:
            node: ast.stmt = ast.parse(dedented).body[0]
        except (SyntaxError, RecursionError):  # the lines around a lambda may be half a statement
            node = ast.Pass()
        if not isinstance(node, ast.FunctionDef):
            kind = {"AsyncFunctionDef": "an async def"}.get(type(node).__name__, "no function")
            kind = "a lambda" if function.__name__ == "<lambda>" else kind
            raise UserError(
                f"{decorator} takes a plain function (`def`); this is {kind}",
                file,
                first_line,
                1,
            )
        return cls(file, node, dedented.splitlines(), first_line, indent)

    def parameter_names(self) -> list[str]:
        arguments = self.function.args
        return [
            each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        ]

    def line(self, node: ast.AST) -> int:
        """Line in the user's file, from 1."""
        return self.first_line + getattr(node, "lineno", 1) - 1

    def column(self, node: ast.AST) -> int:
        """Column in the user's file in characters, from 1."""
        return self._column(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))

    def end_column(self, node: ast.AST) -> int:
        """The column behind the node; 0 where it ends on another line."""
        end_line = getattr(node, "end_lineno", None)
        if end_line is None or end_line != getattr(node, "lineno", 0):
            return 0
        return self._column(end_line, node.end_col_offset)  # type: ignore[attr-defined]

    def _column(self, line: int, byte_offset: int) -> int:
        text = self.lines[line - 1].encode()
        return len(text[:byte_offset].decode(errors="replace")) + self.indent + 1

    def fail(self, node: ast.AST, message: str, notes: tuple[str, ...] = ()) -> NoReturn:
        """UserError at `node`, with a caret under it."""
        place = (self.line(node), self.column(node), self.end_column(node))
        raise UserError(message, self.file, *place, notes)
