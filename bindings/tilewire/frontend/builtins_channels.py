"""Functions that send and receive messages."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import RecordValue, describe, flatten


def _slot(call: Call, slot: Any) -> Value:
    if not isinstance(slot, Value) or not slot.type.is_view:
        call.fail(f"takes a slot of a channel, as in ch[i], found {describe(slot)}")
    return slot


def _values(call: Call, value: Any) -> list[Any]:
    if isinstance(value, RecordValue):
        leaves = [value.values[name] for name, _ in value.record.fields]
    else:
        leaves = flatten(value)
    if not leaves:
        call.fail(
            f"sends tiles, scalars, and tuples or records of them, found {describe(value)}"
            + (": tw.load it" if isinstance(value, Value) and value.type.is_view else "")
        )
    return [call.operand(each, "a message") for each in leaves]


@builtin
def send(call: Call, slot: Any, value: Any) -> None:
    """Puts a tile, a scalar, or a tuple or record of them into a slot, `ch.at(p)[i]`: the n-th
    `recv` of the slot gets the n-th `send`. Waits while all of the slot's buffers hold messages
    that weren't received."""
    call.build("send", _slot(call, slot), _values(call, value))


@builtin
def recv(call: Call, slot: Any) -> Any:
    """The next message of a slot of this rank, `ch[i]`, as soon as it is there: a tile, a scalar,
    or as many of them as were sent. One program instance receives from a slot."""
    return _message(call, slot, call.build("recv", _slot(call, slot)))


@builtin
def exchange(call: Call, slot: Any, value: Any) -> Any:
    """Sends a value to all ranks through their slots `ch[:, i]`, and gives what all of them sent,
    in rank order along a new first dimension. This rank's own is among them, as its peers see it.
    """
    return _message(call, slot, call.build("exchange", _slot(call, slot), _values(call, value)))


def _message(call: Call, slot: Value, values: list[Value]) -> Any:
    record = call.visitor.records_of_channels.get(call.builder.channel_name(slot))
    if record is not None:
        names = [name for name, _ in record.fields]
        return RecordValue(record, dict(zip(names, values, strict=True)))
    return values[0] if len(values) == 1 else tuple(values)
