"""What a name in a kernel's body can stand for, besides IR values and plain Python values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.bundles import NoBundle, parts_of
from tilewire.frontend.bundles import flatten as flatten
from tilewire.frontend.bundles import is_carriable as is_carriable


@dataclass(frozen=True)
class DynamicSlice(NoBundle):
    """`tw.ds(start, size)`."""

    start: Any
    size: int
    end: Any = None  # elements from there on don't exist


@dataclass(frozen=True)
class RangeSlice(NoBundle):
    """An index that is `lower:upper`: `t.k` of `tw.tiles`."""

    lower: Any
    upper: Any


@dataclass(frozen=True)
class LoopRange(NoBundle):
    """What `range`, `tw.persistent`, `tw.ranks` and `tw.peers` return: only `for` takes it."""

    iterate: str  # as in `Iterate`
    lower: Any
    upper: Any
    step: Any
    spelling: str
    team: str | None = None  # whose ranks, where it goes through ranks
    work: Any = None  # makes an item of the index: `Work`
    schedule: str = "static"  # of "persistent"


@dataclass(frozen=True)
class WorkItem(NoBundle):
    """One tile of `tw.tiles` or `tw.ragged`: its fields are indices and integers."""

    spelling: str
    fields: dict[str, Any]
    exists: Any = None  # a bool; None: it does
    grid: Any = None  # whose tile it is
    place: Any = None  # the tile's number, where K is divided

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class RecordView(NoBundle):
    """A view of records: one view per field, whose leading `rank` dimensions are the records'."""

    record: Any
    rank: int
    views: dict[str, Value]


@dataclass(frozen=True)
class RecordValue:
    """A record, or a tile of them, as values: a bundle of one per field."""

    record: Any
    values: dict[str, Any]


@dataclass(frozen=True)
class Instances(NoBundle):
    """`tw.instances(first, count)`: only `with` takes it."""

    first: Any
    count: Any


@dataclass(frozen=True)
class Task(NoBundle):
    """`tw.task()`: only `with` takes it."""


@dataclass(frozen=True)
class Unroll(NoBundle):
    """What `tw.unroll(…)` returns: the frontend repeats the body for each item."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Method(NoBundle):
    """`value.name`, about to be called."""

    value: Any  # a Value or a RecordView
    name: str


@dataclass(frozen=True)
class Poison(NoBundle):
    """A name that can't be used here; reading it raises `message`."""

    message: str


class Unset:
    """Type of UNSET: what a function returns, before it does."""

    def __repr__(self) -> str:
        return "no value yet"


UNSET = Unset()


class TargetPlaceholder:
    """Type of `tw.target`: in a kernel, the target that it is compiled for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"tw.target.{name} is known only in a kernel's body")

    def __repr__(self) -> str:
        return "tw.target"


target = TargetPlaceholder()


def is_static(value: Any) -> bool:
    """Whether Python knows the value, bundles through and through."""
    parts = parts_of(value)
    if parts is not None:
        return all(is_static(each.value) for each in parts)
    dynamic = Value | DynamicSlice | RangeSlice | LoopRange | Method | Poison | WorkItem
    dynamic |= Instances | Task
    return not isinstance(value, dynamic | RecordView)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def is_operand(value: Any) -> bool:
    """A value of the IR, or a literal that becomes one."""
    return isinstance(value, Value) or is_number(value)


def describe(value: Any) -> str:
    """How a message names what was found."""
    if isinstance(value, Value):
        if value.type.is_object:
            return f"the {value.type}"
        kind = "view" if value.type.is_view else "tile" if value.type.is_tile else "scalar"
        return f"the {kind} {value.type}"
    if isinstance(value, DynamicSlice):
        return "tw.ds(…)"
    if isinstance(value, RangeSlice):
        return "a range of K"
    if isinstance(value, LoopRange | WorkItem):
        return value.spelling
    if isinstance(value, RecordView):
        return f"the view of {value.record}"
    if isinstance(value, RecordValue):
        return f"a value of {value.record}"
    if isinstance(value, Instances):
        return "tw.instances(…)"
    if isinstance(value, Task):
        return "tw.task()"
    if isinstance(value, Unroll):
        return "tw.unroll(…)"
    if isinstance(value, DType):
        return str(value)
    parts = parts_of(value)
    if parts is None or is_static(value):
        try:
            return repr(value)
        except Exception:  # of the user's __repr__
            return f"an object of {type(value).__name__}"
    items = [describe(each.value) for each in parts]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    named = [f"{each.key}={item}" for each, item in zip(parts, items, strict=True)]
    return f"{type(value).__name__}({', '.join(named)})"


@dataclass
class Scope:
    """The names that are visible while the body is walked."""

    names: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> Scope:
        return Scope(dict(self.names))
