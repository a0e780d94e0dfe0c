"""The exceptions of tilewire, one per culprit. The C++ side raises the same classes."""

from __future__ import annotations

import linecache


class Error(Exception):
    """Base of all. `message` is the text without location; `line` 0 means "no line to blame".

    Lines and columns count from 1. The text shows the user's line with a caret under the column.
    """

    def __init__(
        self, message: str, file: str = "", line: int = 0, column: int = 0, end_column: int = 0
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        super().__init__(_describe(message, file, line, column, end_column))


class UserError(Error):
    """The program or the call is wrong."""


class BackendError(Error):
    """A library that tilewire stands on failed or is missing."""


class HangError(Error):
    """A wait passed its deadline, or can never be met."""


class InternalError(Error):
    """A defect of tilewire itself."""


def _describe(message: str, file: str, line: int, column: int, end_column: int) -> str:
    if line <= 0:
        return message
    text = f"{file}:{line}: {message}"
    source = linecache.getline(file, line).rstrip()
    if source and column > 0:
        indent = len(source) - len(source.lstrip())
        shown = source.lstrip()
        start = max(column - 1 - indent, 0)
        width = max(min(end_column - column, len(shown) - start), 1)
        text += f"\n    {shown}\n    {' ' * start}{'^' * width}"
    return text
