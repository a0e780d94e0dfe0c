"""Names that are almost right."""

from __future__ import annotations

import difflib


def did_you_mean(name: str, known: list[str]) -> str:
    """`: did you mean `row`?`, where a known name is close; else nothing."""
    close = difflib.get_close_matches(name, [*filter(str.isidentifier, known)], n=1, cutoff=0.65)
    return f": did you mean `{close[0]}`?" if close else ""


ELSEWHERE = {
    "atomic_xchg": "`tw.atomic_exchange`",
    "broadcast_to": "`tw.broadcast`",
    "constexpr": "`tw.const`",
    "device_assert": "`tw.assert_`",
    "device_print": "`tw.print`",
    "dot": "`tw.matmul(a, b, acc=)`",
    "expand_dims": "`x[:, None]`",
    "join": "`tw.stack`",
    "make_block_ptr": "a view, `x[tw.ds(start, size), :]`",
    "rand": "`tw.uniform`",
    "static_assert": "`assert`",
    "static_range": "`tw.unroll`",
    "trans": "`x.T`",
}
"""What other languages of tiles call it, and what it is here."""
