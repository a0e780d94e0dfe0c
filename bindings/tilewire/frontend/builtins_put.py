"""What goes to other ranks, and sums over their memory."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.builtins_semaphores import count, require_object
from tilewire.frontend.records import RecordValue, RecordView
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import describe, is_operand


def _view(call: Call, view: Any) -> Value:
    if not isinstance(view, Value):
        call.fail(f"takes a view, found {describe(view)}")
    return view


def _source(call: Call, value: Any) -> Any:
    if not is_operand(value) and not (isinstance(value, Value) and value.type.is_view):
        call.fail(f"takes a tile, a scalar, a number or a view, found {describe(value)}")
    return value


def _name(call: Call, value: Any, what: str) -> str:
    if not isinstance(value, str):
        call.fail(f"{what}= takes a name, found {describe(value)}")
    return value


def _reduction(call: Call, op: Any, order: Any, team: Any) -> tuple[str, str, str]:
    order, team = ("" if each is None else each for each in (order, team))
    return _name(call, op, "op"), _name(call, order, "order"), _name(call, team, "team")


def _signal(call: Call, signal: Any, n: Any) -> None:
    if signal is not None:
        call.build("signal", require_object(call, signal, "semaphore"), count(call, n))


@builtin
def put(call: Call, view: Any, source: Any, *, signal: Any = None, n: Any = 1) -> None:
    """Moves a tile, or what a view holds, to a view of the same shape at any rank. Of two views,
    elements that one of them doesn't have are left out. It may still be under way when the next
    statement runs: whatever signals that rank afterwards covers it, as does a barrier. `signal`: a
    semaphore, `sem.at(r)[i]`, that gets `n` signals then."""
    if not isinstance(view, RecordView):
        call.build("put", _view(call, view), _source(call, source))
    else:
        if not isinstance(source, RecordView | RecordValue) or source.record != view.record:
            call.fail(f"takes a value or a view of {view.record}, found {describe(source)}")
        parts = source.views if isinstance(source, RecordView) else source.values
        for name, each in view.views.items():
            call.build("put", each, _source(call, parts[name]))
    _signal(call, signal, n)


@builtin
def put_value(call: Call, view: Any, value: Any, *, signal: Any = None, n: Any = 1) -> None:
    """Writes one element of a view, `x.at(r)[i]`, at any rank; `signal` as for `put`."""
    call.build("put_value", _view(call, view), call.operand(value, "the value"))
    _signal(call, signal, n)


@builtin
def get(call: Call, view: Any, source: Any) -> None:
    """Moves what a view at any rank holds, `x.at(r)[…]`, to a view of the same shape. It is there
    behind `tw.flush()`, and not before."""
    if not isinstance(view, RecordView):
        call.build("get", _view(call, view), _view(call, source))
        return
    if not isinstance(source, RecordView) or source.record != view.record:
        call.fail(f"takes a view of {view.record}, found {describe(source)}")
    for name, each in view.views.items():
        call.build("get", each, source.views[name])


@builtin
def flush(call: Call) -> None:
    """Waits until what this instance has put has been read, so that its source may be written
    again, and what it gets is there. It doesn't say that what was put has arrived. The end of the
    kernel implies it."""
    call.build("flush")


@builtin
def add(call: Call, a: Any, b: Any) -> Any:
    """The sum of tiles or scalars, as `a + b`. Where `a` is a view, `x.at(r)[row, :]`: adds `b` to
    what is there, unordered among all who add, rounding each time; it gives nothing."""
    if not isinstance(a, Value) or not a.type.is_view:
        return call.build("binary", "add", a, b)
    call.build("accumulate", a, call.operand(b, "the value"))
    return None


@builtin
def all_reduce_load(
    call: Call, view: Any, *, op: Any = "add", order: Any = None, team: Any = None
) -> Value:
    """The sum of all ranks' copies of a part of a window, as a tile; floats in f32. `order="rank"`,
    which is the default: in rank order, so that all ranks get the same bits; `"any"`: in the
    fastest one, by multimem where there is. `op`: or the `"min"`, `"max"`, `"and"`, `"or"`,
    `"xor"` of them. Of `x.multicast()[…]`: one multimem reduction, in the switch's order."""
    return call.build("all_reduce_load", _view(call, view), *_reduction(call, op, order, team))


@builtin
def reduce_store(
    call: Call,
    view: Any,
    value: Any,
    *,
    op: Any = "add",
    order: Any = None,
    team: Any = None,
) -> None:
    """Adds a tile to a part of a window in every rank's copy: when all ranks have, and met at a
    barrier, each copy holds what it held before plus the sum over the ranks. Unordered, rounding to
    the window's dtype each time, so that copies may differ in their last bits. `op`: or the `"min"`
    or `"max"` stays, or integers' bits are combined, `"and"`, `"or"`, `"xor"`. By multimem where
    there is; of `x.multicast()[…]`, always."""
    names = _reduction(call, op, order, team)
    call.build("reduce_store", _view(call, view), call.operand(value, "the value"), *names)
