"""The exceptions of tilewire, one per culprit. The C++ side raises the same classes."""

from __future__ import annotations

import linecache


class Error(Exception):
    """Base of all. `message` is the text without location; `line` 0 means "no line to blame".

    Lines and columns count from 1. The text shows the user's line with a caret under the column.
    `notes` follow it, each with the lines that it is about: where an operand came from, where a
    function was called.
    """

    def __init__(
        self,
        message: str,
        file: str = "",
        line: int = 0,
        column: int = 0,
        end_column: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.end_column = end_column
        self.notes = notes
        super().__init__("\n".join([_describe(message, file, line, column, end_column), *notes]))

    def with_note(self, note: str) -> Error:
        """The same error, with one more note."""
        return type(self)(
            self.message,
            self.file,
            self.line,
            self.column,
            self.end_column,
            (*self.notes, note),
        )


class UserError(Error):
    """The program or the call is wrong."""


class BackendError(Error):
    """A library that tilewire stands on failed or is missing."""


class HangError(Error):
    """A wait passed its deadline, or can never be met."""


class DeviceAssertionError(Error):
    """A `tw.assert_` of a kernel didn't hold."""


class InternalError(Error):
    """A defect of tilewire itself."""


def _describe(message: str, file: str, line: int, column: int, end_column: int) -> str:
    if line <= 0:
        return message
    return f"{file}:{line}: {message}{excerpt(file, line, column, end_column)}"


def excerpt(file: str, line: int, column: int, end_column: int = 0) -> str:
    """A line break and the source line, with carets under what is meant; empty where unknown."""
    source = linecache.getline(file, line).rstrip()
    if not source or column <= 0:
        return ""
    indent = len(source) - len(source.lstrip())
    shown = source.lstrip()
    start = max(column - 1 - indent, 0)
    width = max(min(end_column - column, len(shown) - start), 1)
    return f"\n    {shown}\n    {' ' * start}{'^' * width}"
