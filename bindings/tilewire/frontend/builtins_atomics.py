"""Atomic changes of memory."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import describe, is_operand


def _options(call: Call, view: Any, values: tuple[Any, ...], where: Any, *names: Any) -> list[Any]:
    """What all of them are called with, checked: `where=`, `order=`, `scope=`."""
    if not isinstance(view, Value):
        call.fail(f"takes a view, found {describe(view)}")
    for each in values:
        if not is_operand(each):
            call.fail(f"{describe(each)} is neither tile, scalar nor number")
    if isinstance(where, bool):
        where = call.build("cast", where, DType.bool)
    if where is not None and not isinstance(where, Value):
        call.fail(f"where= takes a bool tile or scalar, found {describe(where)}")
    for each in names:
        if not isinstance(each, str):
            call.fail(f"order and scope are names, found {describe(each)}")
    return [where, *names]


def _atomic(call: Call, kind: str, view: Any, value: Any, options: list[Any]) -> Value:
    return call.build("atomic", kind, view, value, *options)


@builtin
def atomic_add(
    call: Call, view: Any, value: Any, where: Any = None, *, order: Any = "acq_rel", scope: Any = ""
) -> Value:
    """Adds to each element of a view in one step; gives what was there before."""
    return _atomic(call, "add", view, value, _options(call, view, (value,), where, order, scope))


@builtin
def atomic_min(
    call: Call, view: Any, value: Any, where: Any = None, *, order: Any = "acq_rel", scope: Any = ""
) -> Value:
    """The smaller one stays in each element of a view (NaN wins); gives what was there before."""
    return _atomic(call, "min", view, value, _options(call, view, (value,), where, order, scope))


@builtin
def atomic_max(
    call: Call, view: Any, value: Any, where: Any = None, *, order: Any = "acq_rel", scope: Any = ""
) -> Value:
    """The larger one stays in each element of a view (NaN wins); gives what was there before."""
    return _atomic(call, "max", view, value, _options(call, view, (value,), where, order, scope))


@builtin
def atomic_and(
    call: Call, view: Any, value: Any, where: Any = None, *, order: Any = "acq_rel", scope: Any = ""
) -> Value:
    """Keeps the bits of each integer of a view that the value has; gives what was there before."""
    return _atomic(call, "and", view, value, _options(call, view, (value,), where, order, scope))


@builtin
def atomic_or(
    call: Call, view: Any, value: Any, where: Any = None, *, order: Any = "acq_rel", scope: Any = ""
) -> Value:
    """Sets the value's bits in each integer of a view; gives what was there before."""
    return _atomic(call, "or", view, value, _options(call, view, (value,), where, order, scope))


@builtin
def atomic_xor(
    call: Call, view: Any, value: Any, where: Any = None, *, order: Any = "acq_rel", scope: Any = ""
) -> Value:
    """Flips the value's bits in each integer of a view; gives what was there before."""
    return _atomic(call, "xor", view, value, _options(call, view, (value,), where, order, scope))


@builtin
def atomic_exchange(
    call: Call, view: Any, value: Any, where: Any = None, *, order: Any = "acq_rel", scope: Any = ""
) -> Value:
    """Stores to each element of a view; gives what was there before, in the same step."""
    options = _options(call, view, (value,), where, order, scope)
    return _atomic(call, "exchange", view, value, options)


@builtin
def atomic_cas(
    call: Call,
    view: Any,
    compare: Any,
    value: Any,
    where: Any = None,
    *,
    order: Any = "acq_rel",
    scope: Any = "",
) -> Value:
    """Stores `value` where `compare` is, bit for bit; gives what was there before."""
    options = _options(call, view, (compare, value), where, order, scope)
    return call.build("atomic_cas", view, compare, value, *options)
