"""Functions that move elements within a tile, or combine them in order."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import describe


def _tile(call: Call, x: Any) -> Value:
    if not isinstance(x, Value) or not x.type.is_tile:
        call.fail(f"takes a tile, found {describe(x)}")
    return x


@builtin
def histogram(call: Call, x: Any, num_bins: Any) -> Value:
    """How often each of 0 … num_bins - 1 stands in a tile of integers; others are left out."""
    return call.build("histogram", _tile(call, x), call.static_int(num_bins, "num_bins"))
