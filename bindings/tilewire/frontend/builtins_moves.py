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
    """How often each of 0 … num_bins - 1 stands in a tile of integers, as i32; others are left
    out."""
    return call.build("histogram", _tile(call, x), call.static_int(num_bins, "num_bins"))


def _axis(call: Call, axis: Any) -> int:
    return call.static_int(axis, "axis")


def _scan_axis(call: Call, x: Value, axis: Any) -> int:
    """Which axis is meant must be said where there are several."""
    if axis is None and x.type.rank > 1:
        call.fail(f"say along which axis of {describe(x)}: axis=0 … {x.type.rank - 1}")
    return 0 if axis is None else _axis(call, axis)


@builtin
def argmax(call: Call, x: Any, axis: Any = None) -> Value:
    """The index of the largest element along an axis, or of all, counted in row-major order, as
    i32; NaN wins, then the lowest index."""
    return arg_reduce(call, "argmax", x, axis)[1]


@builtin
def argmin(call: Call, x: Any, axis: Any = None) -> Value:
    """The index of the smallest element along an axis, or of all, counted in row-major order, as
    i32; NaN wins, then the lowest index."""
    return arg_reduce(call, "argmin", x, axis)[1]


def arg_reduce(call: Call, op: str, x: Any, axis: Any) -> tuple[Value, Value]:
    """The element and its index."""
    along = None if axis is None else _axis(call, axis)
    value, index = call.build("arg_reduce", op, _tile(call, x), along)
    return value, index


@builtin
def any_(call: Call, x: Any, axis: Any = None) -> Value:
    """Whether any element along an axis, or of all, is not 0, as bool."""
    return call.build("reduce", "any", _tile(call, x), None if axis is None else _axis(call, axis))


@builtin
def all_(call: Call, x: Any, axis: Any = None) -> Value:
    """Whether all elements along an axis, or of all, are not 0, as bool."""
    return call.build("reduce", "all", _tile(call, x), None if axis is None else _axis(call, axis))


@builtin
def cumsum(call: Call, x: Any, axis: Any = None, *, reverse: Any = False) -> Value:
    """Each element summed with all before it along an axis, or all behind it; dtypes as for `sum`.
    The axis may be left out of rank 1."""
    return _scan(call, "cumsum", x, axis, reverse)


@builtin
def cumprod(call: Call, x: Any, axis: Any = None, *, reverse: Any = False) -> Value:
    """Each element multiplied with all before it along an axis, or all behind it; dtypes as for
    `sum`. The axis may be left out of rank 1."""
    return _scan(call, "cumprod", x, axis, reverse)


def _scan(call: Call, op: str, x: Any, axis: Any, reverse: Any) -> Value:
    along = _scan_axis(call, _tile(call, x), axis)
    return call.build("scan", op, x, along, call.static_bool(reverse, "reverse"))


@builtin
def transpose(call: Call, x: Any, axes: Any = None) -> Value:
    """The tile with its dimensions in the order of `axes`, or in reverse; `x.T` is the same."""
    order = () if axes is None else axes
    if not isinstance(order, tuple):
        call.fail(f"axes= takes a tuple of dimensions, found {describe(axes)}")
    return call.build("transpose", _tile(call, x), [_axis(call, each) for each in order])


@builtin
def flip(call: Call, x: Any, axis: Any = None) -> Value:
    """The elements along an axis from the last to the first. The axis may be left out of rank 1."""
    return call.build("flip", _tile(call, x), _scan_axis(call, x, axis))


@builtin
def cat(call: Call, a: Any, b: Any, axis: Any = 0) -> Value:
    """Two tiles, one behind the other along an axis, in their common dtype."""
    return call.build("cat", _tile(call, a), _tile(call, b), _axis(call, axis))


@builtin
def stack(call: Call, tiles: Any) -> Value:
    """A tuple of tiles or scalars of one shape along a new first dimension, in their common dtype.
    `sum`, `max` and the like along it are element-wise work on the parts, in their order."""
    parts = tiles if isinstance(tiles, tuple | list) else (tiles,)
    if not parts or not any(isinstance(each, Value) for each in parts):
        call.fail(f"takes a tuple of tiles or scalars, found {describe(tiles)}")
    for each in parts:
        if not isinstance(each, Value) or each.type.is_view:
            call.fail(f"takes tiles or scalars, found {describe(each)}: load views first")
    return call.build("stack", list(parts))


@builtin
def split(call: Call, x: Any, axis: Any = 0) -> tuple[Value, ...]:
    """The two halves of a tile along an axis of even extent; `x[0:64]` takes any part."""
    return tuple(call.build("split", _tile(call, x), _axis(call, axis)))


@builtin
def sort(
    call: Call, x: Any, axis: Any = -1, descending: Any = False, *, return_index: Any = False
) -> Any:
    """A small tile sorted along an axis. NaN is last, in both directions; equal elements come in
    any order. With `return_index` also where they stood, as `argsort`."""
    if call.static_bool(return_index, "return_index"):
        return _argsort(call, x, axis, descending)
    is_descending = call.static_bool(descending, "descending")
    return call.build("sort", _tile(call, x), _axis(call, axis), is_descending)


@builtin
def argsort(call: Call, x: Any, axis: Any = -1, descending: Any = False) -> Value:
    """The indices that sort a small tile along an axis, as i32; NaN is last, in both directions;
    equal elements keep their order."""
    return _argsort(call, x, axis, descending)[1]


def _argsort(call: Call, x: Any, axis: Any, descending: Any) -> tuple[Value, Value]:
    is_descending = call.static_bool(descending, "descending")
    value, index = call.build("argsort", _tile(call, x), _axis(call, axis), is_descending)
    return value, index


@builtin
def gather(call: Call, x: Any, index: Any, axis: Any = 0) -> Value:
    """Of each line along an axis the elements that an index tile names, as
    `numpy.take_along_axis`; an index outside of the tile gives 0."""
    return call.build("gather", _tile(call, x), _tile(call, index), _axis(call, axis))
