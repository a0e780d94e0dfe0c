"""Views and values of records in a kernel's body: bundles of one view, or one tile, per field."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tilewire._tilewire import DType, Index, Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import RecordValue, RecordView, describe
from tilewire.record import Record


def record_view(build: Callable[..., Any], bytes_view: Value, record: Record) -> RecordView:
    """The records that lie in the last dimension of a view of bytes."""
    views = {
        name: build("field", bytes_view, record.offsets[name], kind.dtype, list(kind.shape))
        for name, kind in record.fields
    }
    return RecordView(record, bytes_view.type.rank - 1, views)


def slice_records(visitor: Any, node: ast.Subscript, base: RecordView, items: list[Any]) -> Any:
    """`records[…]`: the same indices into each field's view."""
    if len(items) > base.rank:
        visitor.fail(node, f"{len(items)} indices into {describe(base)} of rank {base.rank}")
    first = next(iter(base.views.values()))
    indices = [visitor.view_index(item, first, axis) for axis, item in enumerate(items)]
    indices += [Index.all()] * (base.rank - len(indices))
    views = {name: visitor.build(node, "slice", view, indices) for name, view in base.views.items()}
    rank = next(iter(views.values())).type.rank - len(base.record.fields[0][1].shape)
    return RecordView(base.record, rank, views)


def make_record(call: Call, record: Record, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Row(q=…, scale=…)`: a value of all fields."""
    names = [name for name, _ in record.fields]
    if args or sorted(kwargs) != sorted(names):
        call.fail(f"a record is made with all of its fields by name: {', '.join(names)}")
    return RecordValue(record, {name: kwargs[name] for name in names})


def load_record(call: Call, view: RecordView, other: Any, where: Any, cache: str) -> RecordValue:
    if other is not None:
        call.fail("a whole record takes no other=: load its fields one by one")
    return RecordValue(
        view.record,
        {
            name: call.build("load", each, None, _mask_of(call, view, each, where), cache)
            for name, each in view.views.items()
        },
    )


def store_record(call: Call, view: RecordView, value: Any, where: Any, cache: str) -> None:
    if not isinstance(value, RecordValue) or value.record != view.record:
        call.fail(f"takes a value of {view.record}, found {describe(value)}")
    for name, each in view.views.items():
        mask = _mask_of(call, view, each, where)
        call.build("store", each, value.values[name], mask, cache)


def _mask_of(call: Call, view: RecordView, field: Value, where: Value | None) -> Value | None:
    """A mask of records as one of a field's elements: dimensions of 1 for those of the field."""
    if where is None or not where.type.is_tile:
        return where
    if where.type.rank > view.rank:
        call.fail(f"where= is {describe(where)}, and says which of the records of rank {view.rank}")
    shape = [*where.type.shape, *[1] * (field.type.rank - view.rank)]
    return call.build("reshape", where, shape)


@builtin
def as_records(call: Call, view: Any, record: Any) -> RecordView:
    """A view of bytes whose last dimension is a record's, as a view of records."""
    if not isinstance(record, Record):
        call.fail(f"takes a tw.record(…), found {describe(record)}")
    if not isinstance(view, Value) or not view.type.is_view or view.type.dtype != DType.u8:
        call.fail(f"takes a tensor or window of bytes (tw.u8), found {describe(view)}")
    if view.type.rank == 0 or view.type.shape[-1] != record.num_bytes:
        call.fail(
            f"the last dimension must be the {record.num_bytes} bytes of {record}, found "
            f"{describe(view)}: annotate that extent"
        )
    return record_view(call.build, view, record)
