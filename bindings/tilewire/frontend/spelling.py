"""Names that are almost right."""

from __future__ import annotations

import difflib


def did_you_mean(name: str, known: list[str]) -> str:
    """`: did you mean `row`?`, where a known name is close; else nothing."""
    close = difflib.get_close_matches(name, [*filter(str.isidentifier, known)], n=1, cutoff=0.65)
    return f": did you mean `{close[0]}`?" if close else ""
