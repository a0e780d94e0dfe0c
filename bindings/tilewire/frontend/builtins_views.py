"""`tw.view`, `tw.inside`, `tw.prefetch`: views as such, without reading them."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import describe


def require_view(call: Call, view: Any) -> Value:
    if not isinstance(view, Value) or not view.type.is_view:
        call.fail(f"takes a view, found {describe(view)}")
    return view


@builtin
def view(call: Call, base: Any, offset: Any, shape: Any, strides: Any = None) -> Value:
    """Memory from `offset` elements behind the view's first on, under any shape and strides (in
    elements; None: without gaps). That it is there is the caller's promise, which the CPU target
    checks."""
    amounts = []
    for given in (shape, () if strides is None else strides):
        items = tuple(given) if isinstance(given, tuple | list) else (given,)
        for each in items:
            if not isinstance(each, Value | int) or isinstance(each, bool):
                call.fail(f"extents and strides are integers, found {describe(each)}")
        amounts.append(list(items))
    if strides is not None and len(amounts[0]) != len(amounts[1]):
        call.fail(f"{len(amounts[0])} extents and {len(amounts[1])} strides")
    return call.build("view", require_view(call, base), offset, *amounts)


@builtin
def inside(call: Call, view: Any) -> Value:
    """The mask of a view: a bool tile of its shape, true where an element exists."""
    return call.build("inside", require_view(call, view))


@builtin
def prefetch(call: Call, view: Any) -> None:
    """Brings a view's memory into the L2 cache; orders nothing and may do nothing."""
    call.build("prefetch", require_view(call, view))
