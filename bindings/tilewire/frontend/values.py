"""What a name in a kernel's body can stand for, besides IR values and plain Python values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tilewire._tilewire import DType, Value


@dataclass(frozen=True)
class DynamicSlice:
    """`tw.ds(start, size)`."""

    start: Any
    size: int
    end: Any = None  # elements from there on don't exist


@dataclass(frozen=True)
class LoopRange:
    """What `range`, `tw.persistent`, `tw.ranks` and `tw.peers` return: only `for` takes it."""

    iterate: str  # as in `Iterate`
    lower: Any
    upper: Any
    step: Any
    spelling: str


@dataclass(frozen=True)
class Unroll:
    """What `tw.unroll(…)` returns: the frontend repeats the body for each item."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Method:
    """`value.name`, about to be called."""

    value: Value
    name: str


@dataclass(frozen=True)
class Poison:
    """A name that can't be used here; reading it raises `message`."""

    message: str


class TargetPlaceholder:
    """Type of `tw.target`: in a kernel, the target that it is compiled for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"tw.target.{name} is known only in a kernel's body")

    def __repr__(self) -> str:
        return "tw.target"


target = TargetPlaceholder()

_CALLABLE_BUILTINS: tuple[Callable[..., Any], ...] = (
    abs,
    bool,
    divmod,
    float,
    int,
    len,
    max,
    min,
    round,
    sum,
    tuple,
)


def folds(function: Any) -> bool:
    """Whether a Python function may be called at compile time, on Python values."""
    try:
        if function in _CALLABLE_BUILTINS:
            return True
    except TypeError:
        return False
    return callable(function) and getattr(function, "__module__", None) == math.__name__


def is_static(value: Any) -> bool:
    """Whether Python knows the value, tuples through and through."""
    if isinstance(value, tuple | list):
        return all(is_static(each) for each in value)
    return not isinstance(value, Value | DynamicSlice | LoopRange | Method | Poison)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def is_operand(value: Any) -> bool:
    """A value of the IR, or a literal that becomes one."""
    return isinstance(value, Value) or is_number(value)


def is_carriable(value: Any) -> bool:
    """Whether loops and branches can hand the value on: tiles, scalars, numbers and tuples."""
    if isinstance(value, tuple):
        return all(is_carriable(each) for each in value)
    return is_number(value) or (isinstance(value, Value) and not value.type.is_view)


def flatten(value: Any) -> list[Any]:
    """The operands of a carriable value, left to right."""
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in flatten(each)]
    return [value]


def unflatten(like: Any, leaves: list[Any]) -> Any:
    """Takes as many `leaves` from the front as `like` has, in its shape."""
    if isinstance(like, tuple):
        return tuple(unflatten(each, leaves) for each in like)
    return leaves.pop(0)


def same_structure(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) or isinstance(b, tuple):
        return (
            isinstance(a, tuple)
            and isinstance(b, tuple)
            and len(a) == len(b)
            and all(same_structure(x, y) for x, y in zip(a, b, strict=True))
        )
    return True


def describe(value: Any) -> str:
    """How a message names what was found."""
    if isinstance(value, Value):
        kind = "view" if value.type.is_view else "tile" if value.type.is_tile else "scalar"
        return f"the {kind} {value.type}"
    if isinstance(value, DynamicSlice):
        return "tw.ds(…)"
    if isinstance(value, LoopRange):
        return value.spelling
    if isinstance(value, Unroll):
        return "tw.unroll(…)"
    if isinstance(value, DType):
        return str(value)
    return repr(value)


@dataclass
class Scope:
    """The names that are visible while the body is walked."""

    names: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> Scope:
        return Scope(dict(self.names))
