"""Bundles: tuples, dicts, NamedTuples and dataclasses that hold tiles, scalars, views, constants.

A bundle itself exists at compile time only. Its leaves are *run-time* (tiles, scalars, and numbers,
which become scalars where they change) or *fixed* (views, text, dtypes, None, and the fields that
are annotated `tw.const`): loops and branches hand run-time leaves on, and fixed ones must stay what
they are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
from dataclasses import dataclass
from typing import Any

from tilewire._tilewire import Value
from tilewire.types import Constant


@dataclass(frozen=True)
class Part:
    """One item of a bundle: where it stands, and whether it is a constant by its annotation."""

    key: Any
    value: Any
    is_constant: bool = False


class NoBundle:
    """Base of what a name can stand for that is no bundle, though a dataclass."""


def is_dataclass_instance(value: Any) -> bool:
    is_instance = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return is_instance and not isinstance(value, NoBundle)


def is_named_tuple_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def is_bundle_class(value: Any) -> bool:
    """Whether calling it in a kernel makes a bundle."""
    return isinstance(value, type) and (
        dataclasses.is_dataclass(value) or is_named_tuple_class(value)
    )


def field_annotations(kind: type) -> dict[str, Any]:
    """Field → annotation of a NamedTuple or dataclass; text where it names what isn't there."""
    found: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        names = dict(vars(sys.modules[each.__module__])) if each.__module__ in sys.modules else {}
        for name, annotation in inspect.get_annotations(each).items():
            if isinstance(annotation, str):
                with contextlib.suppress(Exception):
                    annotation = eval(annotation, names)
            found[name] = annotation
    return found


@functools.cache
def constant_fields(kind: type) -> frozenset[str]:
    """The fields of a NamedTuple or dataclass that are annotated `tw.const`."""
    annotations = field_annotations(kind).items()
    return frozenset(name for name, each in annotations if isinstance(each, Constant))


def parts_of(value: Any) -> list[Part] | None:
    """The items of a bundle; None for what is none."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        constants = constant_fields(type(value))
        return [
            Part(name, item, name in constants)
            for name, item in zip(value._fields, value, strict=True)
        ]
    if isinstance(value, tuple | list):
        return [Part(i, item) for i, item in enumerate(value)]
    if isinstance(value, dict):
        return [Part(key, item) for key, item in value.items()]
    if is_dataclass_instance(value):
        constants = constant_fields(type(value))
        return [
            Part(each.name, getattr(value, each.name, None), each.name in constants)
            for each in dataclasses.fields(value)
        ]
    return None


def rebuild(like: Any, items: list[Any]) -> Any:
    """A bundle like `like`, of other items."""
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return type(like)._make(items)  # type: ignore[attr-defined]
    if isinstance(like, tuple | list):
        return tuple(items)
    if isinstance(like, dict):
        return dict(zip(like, items, strict=True))
    return rebuild_fields(type(like), items)


def rebuild_fields(kind: type, items: list[Any]) -> Any:
    """A NamedTuple or dataclass of these fields; no code of its own runs."""
    if not dataclasses.is_dataclass(kind):
        return kind._make(items)  # type: ignore[attr-defined]
    made = object.__new__(kind)
    for each, item in zip(dataclasses.fields(kind), items, strict=True):
        object.__setattr__(made, each.name, item)
    return made


def is_run_time_leaf(value: Any) -> bool:
    """A tile, a scalar, or a number that becomes one."""
    return isinstance(value, int | float) or (isinstance(value, Value) and not value.type.is_view)


def is_carriable(value: Any) -> bool:
    """Whether loops and branches can hand the value on: tiles, scalars, numbers and bundles."""
    return parts_of(value) is not None or is_run_time_leaf(value)


def flatten(value: Any) -> list[Any]:
    """The run-time leaves, left to right."""
    parts = parts_of(value)
    if parts is None:
        return [value] if is_run_time_leaf(value) else []
    return [leaf for each in parts if not each.is_constant for leaf in flatten(each.value)]


def unflatten(like: Any, leaves: list[Any]) -> Any:
    """Takes as many `leaves` from the front as `like` has, in its shape."""
    parts = parts_of(like)
    if parts is None:
        return leaves.pop(0) if is_run_time_leaf(like) else like
    return rebuild(
        like,
        [each.value if each.is_constant else unflatten(each.value, leaves) for each in parts],
    )


def difference(a: Any, b: Any, name: str, is_constant: bool = False) -> str | None:
    """Where two values differ in more than their run-time leaves: `s.mode`; None: nowhere."""
    parts, others = parts_of(a), parts_of(b)
    if parts is None and others is None:
        if not is_constant and is_run_time_leaf(a) and is_run_time_leaf(b):
            return None
        return None if same_fixed(a, b) else name
    if parts is None or others is None or type(a) is not type(b) or len(parts) != len(others):
        return name
    for each, other in zip(parts, others, strict=True):
        if each.key != other.key:
            return name
        place = f"{name}.{each.key}" if hasattr(a, str(each.key)) else f"{name}[{each.key!r}]"
        found = difference(each.value, other.value, place, is_constant or each.is_constant)
        if found is not None:
            return found
    return None


def same_fixed(a: Any, b: Any) -> bool:
    """Whether two leaves that can't change are the same."""
    if a is b:
        return True
    if isinstance(a, Value) or isinstance(b, Value) or type(a) is not type(b):
        return False
    try:
        return bool(a == b)
    except Exception:  # objects that don't compare
        return False


def leaf_at(value: Any, place: str) -> Any:
    """The leaf that `difference` named."""
    parts = parts_of(value)
    while parts is not None and place:
        for each in parts:
            for spelled in (f".{each.key}", f"[{each.key!r}]"):
                if place.startswith(spelled):
                    value, place = each.value, place[len(spelled) :]
                    break
            else:
                continue
            break
        else:
            return value
        parts = parts_of(value)
    return value
