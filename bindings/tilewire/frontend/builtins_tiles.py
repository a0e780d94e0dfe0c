"""`tw.load`, `tw.store`, and what makes and reduces tiles."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.builtins_moves import arg_reduce
from tilewire.frontend.records import load_record, store_record
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import DynamicSlice, RecordValue, RecordView, describe


@builtin
def load(
    call: Call, view: Any, other: Any = None, where: Any = None, *, cache: Any = None
) -> Value | RecordValue:
    """Reads a view into a tile (or a scalar). Elements outside of the view are 0, or `other`.
    `cache`: "streaming" (read once), "last" (stays in the L2 cache), "l2" (only there)."""
    if isinstance(view, RecordView):
        return load_record(call, view, other, _mask(call, where), _cache(call, cache))
    if not isinstance(view, Value):
        call.fail(f"takes a view, found {describe(view)}")
    if other is not None:
        call.operand(other, "other=")
    return call.build("load", view, other, _mask(call, where), _cache(call, cache))


@builtin
def store(call: Call, view: Any, value: Any, where: Any = None, *, cache: Any = None) -> None:
    """Writes a tile or a scalar, cast to the view's dtype, to a view; elements outside of the view
    are dropped. `cache`: as for `tw.load`, or "through" (on to memory)."""
    if isinstance(view, RecordView):
        return store_record(call, view, value, _mask(call, where), _cache(call, cache))
    if not isinstance(view, Value):
        call.fail(f"takes a view, found {describe(view)}")
    stored = call.operand(value, "the value")
    call.build("store", view, stored, _mask(call, where), _cache(call, cache))


def _cache(call: Call, cache: Any) -> str:
    if cache is not None and not isinstance(cache, str):
        call.fail(f"cache= takes a name, found {describe(cache)}")
    return cache or ""


def _mask(call: Call, where: Any) -> Value | None:
    """`where=` as a value: a bool that Python knows is one too."""
    if isinstance(where, bool):
        return call.build("cast", where, DType.bool)
    if where is not None and not isinstance(where, Value):
        call.fail(f"where= takes a bool tile or scalar, found {describe(where)}")
    return where


@builtin
def ds(call: Call, start: Any, size: Any) -> DynamicSlice:
    """An index of a view: `size` elements from a dynamic `start` on."""
    return DynamicSlice(start, call.static_int(size, "the size"))


@builtin
def zeros(call: Call, shape: Any, dtype: Any = DType.f32) -> Value:
    """A tile of zeros; a scalar where the shape is ()."""
    return call.build("zeros", call.shape(shape), call.dtype(dtype))


@builtin
def full(call: Call, shape: Any, value: Any, dtype: Any = DType.f32) -> Value:
    """A tile with one value everywhere; a scalar where the shape is ()."""
    return call.build("full", call.shape(shape), value, call.dtype(dtype))


@builtin
def broadcast(call: Call, x: Any, shape: Any) -> Value:
    """`x` repeated to `shape`, as `numpy.broadcast_to`."""
    return call.build("broadcast", x, call.shape(shape))


@builtin
def reshape(call: Call, x: Any, shape: Any) -> Value:
    """The same elements, in row-major order, under another shape with as many."""
    return call.build("reshape", x, call.shape(shape))


@builtin
def extract(call: Call, x: Any, *indices: Any) -> Value:
    """One element of a tile; `x[i, j]` is the same. A run-time index outside of it gives 0."""
    return call.build("extract", x, list(indices))


@builtin
def where(call: Call, condition: Any, a: Any, b: Any) -> Value:
    """`a` where the condition holds, else `b`, element by element, in their common dtype."""
    return call.build("where", condition, a, b)


@builtin
def extent(call: Call, view: Any, dimension: Any) -> Any:
    """An extent of a view or tile; `x.shape[dimension]` is the same."""
    if not isinstance(view, Value):
        call.fail(f"takes a view or a tile, found {describe(view)}")
    axis = call.static_int(dimension, "the dimension")
    if not 0 <= axis < view.type.rank:
        call.fail(f"there is no dimension {axis} in {describe(view)}")
    return call.visitor.extent(call.node, view, axis)


def _reduce(call: Call, op: str, x: Any, axis: Any) -> Value:
    if not isinstance(x, Value):
        call.fail(f"takes a tile, found {describe(x)}")
    return call.build("reduce", op, x, None if axis is None else call.static_int(axis, "axis"))


@builtin
def sum_(call: Call, x: Any, axis: Any = None) -> Value:
    """The sum over an axis, or of all elements (a scalar): of f64 in f64, of other floats in f32,
    of bool and narrow integers in 32 bits."""
    return _reduce(call, "sum", x, axis)


@builtin
def max_(call: Call, x: Any, axis: Any = None, *, return_index: Any = False) -> Any:
    """The largest element along an axis, or of all; NaN wins. With `return_index` also its index,
    as `argmax`."""
    if call.static_bool(return_index, "return_index"):
        return arg_reduce(call, "argmax", x, axis)
    return _reduce(call, "max", x, axis)


@builtin
def min_(call: Call, x: Any, axis: Any = None, *, return_index: Any = False) -> Any:
    """The smallest element along an axis, or of all; NaN wins. With `return_index` also its index,
    as `argmin`."""
    if call.static_bool(return_index, "return_index"):
        return arg_reduce(call, "argmin", x, axis)
    return _reduce(call, "min", x, axis)
