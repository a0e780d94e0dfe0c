"""Kernels whose Python text is made by a program."""

from __future__ import annotations

import linecache
from typing import Any

import tilewire as tw


def kernel_of_source(source: str, name: str, file: str) -> tw.kernel:
    """The kernel `name` of `source`, decorated there; `file` is what its messages call it."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tw": tw, "__name__": file}
    exec(compile(source, file, "exec"), names)
    return names[name]
